package store_test

import (
	"errors"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store/storetest"
)

func TestSQLite(t *testing.T) { storetest.Run(t, storetest.SQLite) }

func TestOnlyTheDatabasesOwnErrorsCount(t *testing.T) {
	for _, err := range []error{nil, errors.New("UNIQUE"), errors.New("connection refused"), store.ErrClosed} {
		if store.IsUnique(err) || store.IsUnavailable(err) {
			t.Errorf("%v: unique %v, unavailable %v", err, store.IsUnique(err), store.IsUnavailable(err))
		}
	}
}
