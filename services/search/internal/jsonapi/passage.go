package jsonapi

import (
	"encoding/json"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
)

// Passages turns an engine's pieces of text into passages. A piece that is an
// object or a list in JSON is data, such as a table, and stays as it is.
func Passages(pieces []string) []adapter.Passage {
	var out []adapter.Passage
	for _, piece := range pieces {
		piece = strings.TrimSpace(piece)
		if piece == "" {
			continue
		}
		if (piece[0] == '{' || piece[0] == '[') && json.Valid([]byte(piece)) {
			out = append(out, adapter.Passage{Text: piece, Kind: adapter.JSON})
			continue
		}
		if prose := adapter.CleanLines(piece); prose != "" {
			out = append(out, adapter.Passage{Text: prose, Kind: adapter.Prose})
		}
	}
	return out
}

// FirstProse is the snippet that passages make: the first one that is text.
func FirstProse(passages []adapter.Passage) string {
	for _, p := range passages {
		if p.Kind == adapter.Prose {
			return adapter.CleanText(p.Text)
		}
	}
	return ""
}
