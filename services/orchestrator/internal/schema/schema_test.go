package schema_test

import (
	"context"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bun"
	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema/schematest"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/taint"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func write(t *testing.T, db *store.DB, do func(ctx context.Context, tx bun.IDB) error) {
	t.Helper()
	if err := db.Write(t.Context(), do); err != nil {
		t.Fatal(err)
	}
}

// rows has a pointer to the row type of each table.
var rows = map[string]any{
	"users": &schema.User{}, "api_tokens": &schema.Token{}, "conversations": &schema.Conversation{}, "messages": &schema.Message{}, "runs": &schema.Run{},
	"model_calls": &schema.ModelCall{}, "tool_calls": &schema.ToolCall{}, "events": &schema.Event{}, "usage_ledger": &schema.LedgerRow{}, "idempotency_keys": &schema.IdempotencyKey{},
}

// tablesOf are the names of all tables but those of goose.
func tablesOf(t *testing.T, db *store.DB) (names []string) {
	t.Helper()
	query := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'goose%' AND name NOT LIKE 'sqlite%' ORDER BY name"
	if db.Driver() == store.DriverMySQL {
		query = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name NOT LIKE 'goose%' ORDER BY table_name"
	}
	if err := db.Read().NewRaw(query).Scan(t.Context(), &names); err != nil {
		t.Fatal(err)
	}
	return names
}

// tablesWithoutRows are there for later parts.
var tablesWithoutRows = []string{"approvals"}

func TestEveryTableHasItsRowAndItsRetention(t *testing.T) {
	db := schematest.Open(t)
	tables := tablesOf(t, db)
	want := slices.Clone(tablesWithoutRows)
	for name := range rows {
		want = append(want, name)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, tables); diff != "" {
		t.Errorf("tables (-rows +database):\n%s", diff)
	}
	text, err := fs.ReadFile(schema.Migrations(), "sqlite/00001_init.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		at := strings.Index(string(text), "CREATE TABLE "+table+" ")
		if at < 0 {
			t.Fatalf("%s is not made by the first migration", table)
		}
		comment := string(text)[strings.LastIndex(string(text)[:at], "\n\n")+1 : at]
		if !strings.Contains(comment, "Retention: ") {
			t.Errorf("%s names no retention", table)
		}
	}
}

// fill gives every field a value that is not its zero value, in which n is told.
func fill(v reflect.Value, n int) {
	for i := range v.NumField() {
		f := v.Field(i)
		switch f.Interface().(type) {
		case bun.BaseModel:
			continue
		case taint.Set:
			f.Set(reflect.ValueOf(taint.New(fmt.Sprintf("a:%d", n), `q"uote:é`)))
			continue
		case []byte:
			f.SetBytes([]byte{0, 255, byte(n)})
			continue
		}
		switch f.Kind() {
		case reflect.String:
			f.SetString(fmt.Sprintf("%d,%d纳'\"", i, n)) // fits the narrowest column
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(1_000_000*n + i + 1))
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Float64:
			f.SetFloat(0.1 * float64(n))
		default:
			panic("a field of kind " + f.Kind().String())
		}
	}
}

func TestRowsComeBackAsTheyWere(t *testing.T) {
	db := schematest.Open(t)
	for table, row := range rows {
		t.Run(table, func(t *testing.T) {
			typ := reflect.TypeOf(row).Elem()
			full, empty := reflect.New(typ), reflect.New(typ)
			fill(full.Elem(), 7)
			if table == "events" {
				empty.Elem().FieldByName("Data").SetBytes([]byte{}) // a row without data is none
			}
			for _, want := range []reflect.Value{full, empty} {
				write(t, db, func(ctx context.Context, tx bun.IDB) error {
					_, err := tx.NewInsert().Model(want.Interface()).Exec(ctx)
					return err
				})
				got := reflect.New(typ)
				q := db.Read().NewSelect().Model(got.Interface())
				for i := range typ.NumField() {
					if strings.Contains(typ.Field(i).Tag.Get("bun"), ",pk") {
						q = q.Where("? = ?", bun.Ident(column(typ.Field(i).Name)), want.Elem().Field(i).Interface())
					}
				}
				if err := q.Scan(t.Context()); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want.Interface(), got.Interface(), cmp.Comparer(func(a, b taint.Set) bool { return slices.Equal(a, b) })); diff != "" {
					t.Errorf("(-stored +read):\n%s", diff)
				}
			}
		})
	}
}

// unstorable are texts that no database keeps as they are, with what is kept.
var unstorable = map[string]string{"\x00a\x00": "\uFFFDa\uFFFD", "b\xff纳": "b\uFFFD纳", "\xe7\xba\x00": "\uFFFD\uFFFD"}

func TestWhatCannotBeStoredNeverReachesSQL(t *testing.T) {
	db := schematest.Open(t)
	for table, row := range rows {
		typ := reflect.TypeOf(row).Elem()
		for bad, want := range unstorable {
			t.Run(fmt.Sprintf("%s %q", table, bad), func(t *testing.T) {
				in := reflect.New(typ)
				fill(in.Elem(), 7)
				var texts []int // the fields that are texts
				for i := range typ.NumField() {
					if f := in.Elem().Field(i); f.Kind() == reflect.String {
						f.SetString(bad)
						texts = append(texts, i)
					}
				}
				write(t, db, func(ctx context.Context, tx bun.IDB) error {
					if _, err := tx.NewInsert().Model(in.Interface()).Exec(ctx); err != nil {
						return err
					}
					first := bun.Ident(columnOf(db, in.Interface(), texts[0]))
					// An argument is a text as well.
					_, err := tx.NewUpdate().Model(in.Interface()).Set("? = ?", first, bad).Where("? = ?", first, bad).Exec(ctx)
					return err
				})
				out := reflect.New(typ)
				if err := db.Read().NewSelect().Model(out.Interface()).Where("? = ?", bun.Ident(columnOf(db, in.Interface(), texts[0])), bad).Scan(t.Context()); err != nil {
					t.Fatal(err)
				}
				for _, i := range texts {
					if got := out.Elem().Field(i).String(); got != want {
						t.Errorf("%s = %q, want %q", typ.Field(i).Name, got, want)
					}
				}
			})
		}
	}
}

// columnOf is the column of the ith field of a row.
func columnOf(db *store.DB, row any, i int) string {
	table := db.Read().Dialect().Tables().Get(reflect.TypeOf(row))
	for _, f := range table.Fields {
		if f.GoName == reflect.TypeOf(row).Elem().Field(i).Name {
			return f.Name
		}
	}
	return ""
}

func column(field string) string {
	return map[string]string{"ID": "id", "RunID": "run_id", "Seq": "seq", "CallID": "call_id", "UserID": "user_id", "Route": "route", "IdemKey": "idem_key"}[field]
}

func TestTheMigrationGoesBack(t *testing.T) {
	db := schematest.Open(t)
	text, err := fs.ReadFile(schema.Migrations(), db.Driver()+"/00001_init.sql")
	if err != nil {
		t.Fatal(err)
	}
	_, down, ok := strings.Cut(string(text), "-- +goose Down")
	if !ok {
		t.Fatal("there is no way back")
	}
	write(t, db, func(ctx context.Context, tx bun.IDB) error {
		for statement := range strings.SplitSeq(strings.TrimSpace(down), "\n") {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
	if left := tablesOf(t, db); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestWhatIsBeyondItsRetentionGoes(t *testing.T) {
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	at := func(days float64) int64 { return now.Add(-time.Duration(days * 24 * float64(time.Hour))).UnixMilli() }
	day := func(days int) string { return now.AddDate(0, 0, -days).Format(time.DateOnly) }
	db := schematest.Open(t)
	call := func(id, run, blob string, age float64) *schema.ToolCall {
		return &schema.ToolCall{ID: id, RunID: run, ResultBlob: blob, EffectKey: id, CreatedAt: at(age)}
	}
	write(t, db, func(ctx context.Context, tx bun.IDB) error {
		for _, row := range []any{
			&schema.IdempotencyKey{IdemKey: "young", CreatedAt: at(0.9)}, &schema.IdempotencyKey{IdemKey: "old", CreatedAt: at(1.1)},
			call("young", "", "", 29), call("old", "", "", 31), call("old-of-a-run", "run_1", "", 900), call("old-blob-of-a-run", "run_1", "results/r", 900),
			call("young-blob", "", "results/young", 29), call("old-blob", "", "results/old", 31), call("stuck-blob", "", "results/stuck", 31),
			&schema.LedgerRow{CallID: "young", Day: day(400)}, &schema.LedgerRow{CallID: "old", Day: day(401)},
			&schema.Conversation{ID: "c", CreatedAt: at(3000)}, &schema.Message{ID: "m", CreatedAt: at(3000)}, &schema.Run{ID: "r", CreatedAt: at(3000)},
		} {
			if _, err := tx.NewInsert().Model(row).Exec(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	keys, err := schema.ExpiredBlobs(t.Context(), db.Read(), now)
	if err != nil || !slices.Equal(keys, []string{"results/old", "results/stuck"}) {
		t.Fatalf("old results %v, %v", keys, err)
	}
	for range 2 { // cleaning twice is cleaning once
		write(t, db, func(ctx context.Context, tx bun.IDB) error {
			return schema.Clean(ctx, tx, now, []string{"results/old"})
		})
	}
	for query, want := range map[string]string{
		"SELECT idem_key FROM idempotency_keys":                  "young",
		"SELECT id FROM tool_calls ORDER BY id":                  "old-blob-of-a-run old-of-a-run stuck-blob young young-blob",
		"SELECT call_id FROM usage_ledger":                       "young",
		"SELECT id FROM conversations":                           "c",
		"SELECT id FROM messages":                                "m",
		"SELECT id FROM runs":                                    "r",
		"SELECT result_blob FROM tool_calls WHERE id='old-blob'": "",
	} {
		var left []string
		if err := db.Read().NewRaw(query).Scan(t.Context(), &left); err != nil || strings.Join(left, " ") != want {
			t.Errorf("%s: %v, want %s (%v)", query, left, want, err)
		}
	}
}

func TestTimes(t *testing.T) {
	if !schema.Time(0).IsZero() || schema.Time(1_700_000_000_123).UnixMilli() != 1_700_000_000_123 || schema.Time(1).Location() != time.UTC {
		t.Error("times do not come back")
	}
}
