package charset

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

type corpusCase struct {
	ID            string   `json:"id"`
	Kind          string   `json:"kind"`
	ContentType   string   `json:"content_type"`
	Runes         int      `json:"runes"`
	ExpectCharset []string `json:"expect_charset"`
	ExpectText    string   `json:"expect_text"`
	Body          []byte   `json:"base64"`
}

func readCorpus(t testing.TB) []corpusCase {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		f, err := os.Open(filepath.Join(dir, "..", "shared", "data", "fetch", "charset.jsonl"))
		if err == nil {
			defer func() { _ = f.Close() }()
			var cases []corpusCase
			for lines := bufio.NewScanner(f); lines.Scan(); {
				var c corpusCase
				if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
					t.Fatal(err)
				}
				cases = append(cases, c)
			}
			return cases
		}
		if dir == filepath.Dir(dir) {
			t.Skip("the corpus ../shared/data/fetch/charset.jsonl is not here")
		}
	}
}

func TestTheCorpusOfPagesIsReadInItsEncoding(t *testing.T) {
	var right, undeclared, undeclaredRight int
	for _, c := range readCorpus(t) {
		text, got := ToUTF8(c.Body, c.ContentType)
		ok := slices.ContainsFunc(c.ExpectCharset, func(s string) bool { return strings.EqualFold(s, got.Name) }) &&
			strings.Contains(strings.Join(strings.Fields(string(text)), " "), strings.Join(strings.Fields(c.ExpectText), " "))
		long := c.Kind == "undeclared" && c.Runes > 200
		if long {
			undeclared++
		}
		if !ok {
			t.Errorf("%s: %s by %s, want %s", c.ID, got.Name, got.Source, c.ExpectCharset)
			continue
		}
		right++
		if long {
			undeclaredRight++
		}
	}
	t.Logf("%d right; undeclared and long: %d of %d", right, undeclaredRight, undeclared)
	if undeclaredRight < undeclared {
		t.Errorf("undeclared pages of over 200 characters: %d of %d are read right", undeclaredRight, undeclared)
	}
}
