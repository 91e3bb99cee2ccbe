//go:build !backends

package storetest

import (
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
)

// Fresh is a new empty database of the lane that the test runs in.
func Fresh(t testing.TB) store.Config { return SQLite(t) }
