// Package schema has the orchestrator's tables: the migrations that make them
// and one row type for each. It holds no queries; those stand with the concept
// that asks them.
package schema

import (
	"embed"
	"io/fs"
	"time"
)

//go:embed migrations/*/*.sql
var files embed.FS

// Migrations are the goose files of the orchestrator's database, in a folder for
// each driver.
func Migrations() fs.FS {
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		panic(err) // the folder is compiled in
	}
	return sub
}

// The prefixes of ids say what a thing is, for people who read logs.
const (
	UserPrefix         = "usr_"
	TokenPrefix        = "tok_"
	ConversationPrefix = "conv_"
	MessagePrefix      = "msg_"
	RunPrefix          = "run_"
	ModelCallPrefix    = "mc_"
	ToolCallPrefix     = "call_"
)

// Time is the time that the tables keep as ms; the zero time for 0.
func Time(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
