//go:build backends

package store_test

import (
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store/storetest"
)

func TestMySQL(t *testing.T) { storetest.Run(t, storetest.MySQL) }
