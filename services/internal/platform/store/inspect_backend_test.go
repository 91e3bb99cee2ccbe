//go:build backends

package store_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store/storetest"
)

func TestInspectFindsMissingRights(t *testing.T) {
	cfg := notes(t)
	storetest.Open(t, cfg)
	reader := user(t, "")
	reader.DBName = nameOf(t, cfg)
	cfg.DSN = config.Secret(reader.FormatDSN())
	if _, err := store.Inspect(ctx, cfg); !errors.Is(err, store.ErrDenied) || strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("without any right: %v", err)
	}
	grant := func(rights string) {
		t.Helper()
		storetest.Admin(t, fmt.Sprintf("GRANT %s ON %s.* TO '%s'@'%%'", rights, reader.DBName, reader.User))
	}
	grant("SELECT")
	if _, err := store.Inspect(ctx, cfg); !errors.Is(err, store.ErrDenied) || !strings.Contains(err.Error(), "GRANT ALL") {
		t.Errorf("with the right to read: %v", err)
	}
	grant("ALL")
	r, err := store.Inspect(ctx, cfg)
	if err != nil || r.Schema == 0 || !r.Timed || r.Ahead.Abs() > time.Second {
		t.Errorf("with all rights: %+v, %v", r, err)
	}
}

func TestInspectFindsThatNobodyMayMigrate(t *testing.T) {
	cfg := notes(t)
	writer := user(t, "")
	writer.DBName = nameOf(t, cfg)
	cfg.DSN = config.Secret(writer.FormatDSN())
	storetest.Admin(t, "CREATE DATABASE IF NOT EXISTS "+writer.DBName)
	for _, tc := range []struct {
		rights string
		may    bool
	}{
		{"SELECT, INSERT, UPDATE, DELETE", false}, {"CREATE, DROP", false}, {"ALTER", false}, {"INDEX", true},
	} {
		storetest.Admin(t, fmt.Sprintf("GRANT %s ON %s.* TO '%s'@'%%'", tc.rights, writer.DBName, writer.User))
		r, err := store.Inspect(ctx, cfg)
		if denied := errors.Is(err, store.ErrDenied); denied == tc.may || err != nil && !denied {
			t.Errorf("with %s too: %v", tc.rights, err)
		}
		if r.Schema != 0 || r.Latest == 0 {
			t.Errorf("with %s too: %+v", tc.rights, r)
		}
	}
}

func TestInspectMakesNoDatabase(t *testing.T) {
	addr := storetest.Server(t)
	addr.DBName = ""
	cfg := store.Config{Service: "test-" + strings.ToLower(rand.Text()[:12]), Driver: store.DriverMySQL, DSN: config.Secret(addr.FormatDSN()), Migrations: storetest.Notes()}
	for range 2 {
		r, err := store.Inspect(ctx, cfg)
		if err != nil || r.Exists || r.Server == "" || r.Latest == 0 {
			t.Errorf("report = %+v, %v", r, err)
		}
	}
}
