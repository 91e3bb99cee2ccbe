package extract

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/charset"
)

// corpusFloor is what the extractor must reach on the pages of the corpus, as
// micro F1 of the segments that must and must not be in the text.
const corpusFloor = 0.90

func TestTheCorpusOfPagesGivesItsMainContent(t *testing.T) {
	dir := corpusDir(t)
	var truth map[string]struct {
		File          string
		With, Without []string
	}
	if err := json.Unmarshal(gunzip(t, filepath.Join(dir, "evaldata.json.gz")), &truth); err != nil {
		t.Fatal(err)
	}
	var hit, miss, wrong int
	for address, page := range truth {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := charset.ToUTF8(gunzip(t, filepath.Join(dir, "html", page.File+".gz")), "text/html")
		text, _ := Parse(body, u).Text()
		text = fold(text)
		for _, s := range page.With {
			if strings.Contains(text, fold(s)) {
				hit++
			} else {
				miss++
			}
		}
		for _, s := range page.Without {
			if strings.Contains(text, fold(s)) {
				wrong++
			}
		}
	}
	f1 := float64(2*hit) / float64(2*hit+miss+wrong)
	t.Logf("F1 %.4f over %d pages", f1, len(truth))
	if f1 < corpusFloor {
		t.Errorf("F1 %.4f is under %.2f", f1, corpusFloor)
	}
}

func corpusDir(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		corpus := filepath.Join(dir, "..", "shared", "data", "extract", "trafilatura")
		if _, err := os.Stat(corpus); err == nil {
			return corpus
		}
		if dir == filepath.Dir(dir) {
			t.Skip("the corpus ../shared/data/extract is not here")
		}
	}
}

func gunzip(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
