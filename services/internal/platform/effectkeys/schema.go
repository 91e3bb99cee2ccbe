package effectkeys

import (
	"embed"
	"io/fs"

	"github.com/uptrace/bun"
)

//go:embed migrations/*/*.sql
var files embed.FS

// Migrations make the two tables, in a folder for each driver. They serve the
// tests and are the text that a service copies into migrations of its own, for
// a database has one list of them.
func Migrations() fs.FS {
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		panic(err) // the folder is compiled in
	}
	return sub
}

// Row is a row of effect_keys.
type Row struct {
	bun.BaseModel `bun:"table:effect_keys"`

	Caller      string `bun:",pk"`
	Tool        string `bun:",pk"`
	EffectKey   string `bun:",pk"`
	ArgsHash    string
	State       string
	Owner       string
	ContentJSON string
	IsError     bool
	Origins     string // a JSON array
	CostUSD     float64
	StartedAt   int64
	FinishedAt  int64 // 0 while it runs
}

// OwnerRow is a row of effect_owners.
type OwnerRow struct {
	bun.BaseModel `bun:"table:effect_owners"`

	Owner      string `bun:",pk"`
	AliveUntil int64
}
