package store

import (
	"github.com/uptrace/bun/schema"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/storable"
)

// safeText keeps every text of a query storable, whether it is a value of a row
// or an argument. Callers see to that where a text comes in (package storable);
// what slips through becomes U+FFFD instead of a query that fails for good, as
// bun makes of U+0000 on SQLite, or a text that silently lost a character, as it
// does on MySQL.
type safeText struct{ schema.Dialect }

// AppendString quotes a text.
func (d safeText) AppendString(b []byte, s string) []byte {
	return d.Dialect.AppendString(b, storable.Text(s))
}
