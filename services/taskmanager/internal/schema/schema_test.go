package schema_test

import (
	"context"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bun"
	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/effectkeys"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/host"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema/schematest"
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
	"crawl_users": &schema.User{}, "crawl_tasks": &schema.Task{}, "crawl_frontier": &schema.Address{}, "crawl_hosts": &schema.Host{},
	"crawl_leases": &schema.Lease{}, "crawl_results": &schema.Result{}, "crawl_events": &schema.Event{},
	"idempotency_keys": &schema.IdempotencyKey{}, "effect_keys": &effectkeys.Row{}, "effect_owners": &effectkeys.OwnerRow{},
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

func TestEveryTableHasItsRowAndItsRetention(t *testing.T) {
	tables := tablesOf(t, schematest.Open(t))
	var want []string
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
		case host.Pace:
			fill(f, n)
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
			for i := range typ.NumField() {
				if f := empty.Elem().Field(i); f.Type() == reflect.TypeFor[[]byte]() {
					f.SetBytes([]byte{}) // no row has none
				}
			}
			for _, want := range []reflect.Value{full, empty} {
				write(t, db, func(ctx context.Context, tx bun.IDB) error {
					_, err := tx.NewInsert().Model(want.Interface()).Exec(ctx)
					return err
				})
				got := reflect.New(typ)
				q := db.Read().NewSelect().Model(got.Interface())
				for _, f := range db.Read().Dialect().Tables().Get(typ).PKs {
					q = q.Where("? = ?", bun.Ident(f.Name), want.Elem().FieldByName(f.GoName).Interface())
				}
				if err := q.Scan(t.Context()); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want.Interface(), got.Interface()); diff != "" {
					t.Errorf("(-stored +read):\n%s", diff)
				}
			}
		})
	}
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

// statements are those that make a table and its indexes.
func statements(t *testing.T, files fs.FS, driver, table string) (out []string) {
	t.Helper()
	text, err := fs.ReadFile(files, driver+"/00001_init.sql")
	if err != nil {
		t.Fatal(err)
	}
	for s := range strings.SplitSeq(string(text), ";\n") {
		if strings.Contains(s, " "+table+" (") {
			out = append(out, strings.Join(strings.Fields(s[strings.Index(s, "CREATE "):]), " "))
		}
	}
	return out
}

func TestTheTablesOfEffectKeysAreTheirOwn(t *testing.T) {
	for _, driver := range []string{store.DriverSQLite, store.DriverMySQL} {
		for _, table := range []string{"effect_keys", "effect_owners"} {
			want, got := statements(t, effectkeys.Migrations(), driver, table), statements(t, schema.Migrations(), driver, table)
			if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
				t.Errorf("%s, %s (-package +here):\n%s", driver, table, diff)
			}
		}
	}
}

func TestKeysThatDifferInBytesAreTwo(t *testing.T) {
	db := schematest.Open(t)
	for _, key := range []string{"k", "K", "k ", " k", "ḱ", "k\u0301"} {
		write(t, db, func(ctx context.Context, tx bun.IDB) error {
			_, err := tx.NewInsert().Model(&schema.IdempotencyKey{UserID: "ann", IdemKey: key}).Exec(ctx)
			return err
		})
		var got schema.IdempotencyKey
		if err := db.Read().NewSelect().Model(&got).Where("idem_key = ?", key).Scan(t.Context()); err != nil || got.IdemKey != key {
			t.Errorf("%q is %q, %v", key, got.IdemKey, err)
		}
	}
}
