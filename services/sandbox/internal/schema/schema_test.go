package schema_test

import (
	"io/fs"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/effectkeys"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store/storetest"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

func TestTheTablesAreThoseOfEffectKeys(t *testing.T) {
	for _, name := range []string{"sqlite/00001_init.sql", "mysql/00001_init.sql"} {
		got, err := fs.ReadFile(schema.Migrations(), name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := fs.ReadFile(effectkeys.Migrations(), name)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s differs", name)
		}
	}
}

func TestAnExecutionCanBeRemembered(t *testing.T) {
	cfg := storetest.Fresh(t)
	cfg.Service, cfg.Migrations = "sandbox", schema.Migrations()
	keys := effectkeys.New(storetest.Open(t, cfg), "own_1")
	key := toolkit.Key{Caller: "user/ann", Tool: "run_code", EffectKey: "k"}
	if _, begun, err := keys.Begin(t.Context(), key, "hash"); !begun || err != nil {
		t.Fatal(begun, err)
	}
	if rec, err := keys.Get(t.Context(), key); err != nil || rec.State != toolkit.StateRunning {
		t.Errorf("%+v, %v", rec, err)
	}
}
