// Package schema has the sandbox's tables: those of package effectkeys, in which
// executions are remembered by their keys.
package schema

import (
	"embed"
	"io/fs"
)

//go:embed migrations/*/*.sql
var files embed.FS

// Migrations are the goose files of the sandbox's database, in a folder for each
// driver.
func Migrations() fs.FS {
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		panic(err) // the folder is compiled in
	}
	return sub
}
