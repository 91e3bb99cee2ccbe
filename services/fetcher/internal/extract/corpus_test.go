package extract

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/charset"
)

// corpusPage is one page of a corpus, and what is to be read of it.
type corpusPage struct {
	name, url     string
	kind          string // the page type, where the corpus says it
	raw           []byte
	truth         string
	with, without []string
	title, byline string
}

// corpora are read from the folder of that name.
var corpora = []struct {
	name  string
	load  func(t testing.TB, dir string) []corpusPage
	floor float64 // what the extractor must reach
}{
	{"scrapinghub", loadScrapinghub, 0.968},
	{"wcxb-dev", loadWCXB, 0.81},
	{"trafilatura", loadTrafilatura, 0.92},
	{"mozilla", loadMozilla, 0.99},
}

const (
	// titleFloor is the share of titles that must be right.
	titleFloor = 0.97
	// typeFloor is the share of pages that must be taken for what they are.
	typeFloor = 0.7
	// pageFloor is what pages are named under.
	pageFloor = 0.6
)

func TestTheCorporaGiveTheirMainContent(t *testing.T) {
	for _, c := range corpora {
		t.Run(c.name, func(t *testing.T) {
			pages := c.load(t, corpusDir(t, c.name))
			s := newScores()
			for _, p := range pages {
				s.add(c.name, p, readPage(t, p))
			}
			total := s.total(c.name)
			t.Logf("%s%s", c.name, s)
			if total < c.floor {
				t.Errorf("%.4f is under %.3f", total, c.floor)
			}
			if c.name == "wcxb-dev" && float64(s.right) < typeFloor*s.n {
				t.Errorf("%d of %.0f pages are taken for what they are", s.right, s.n)
			}
			if s.titles > 0 && float64(s.title) < titleFloor*float64(s.titles) {
				t.Errorf("%d of %d titles are right", s.title, s.titles)
			}
		})
	}
}

// pageResult is what the extractor says of a page.
type pageResult struct {
	text, title, byline, kind string
}

func readPage(t testing.TB, p corpusPage) pageResult {
	t.Helper()
	u, err := url.Parse(p.url)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := charset.ToUTF8(p.raw, "text/html")
	d := Parse(body, u)
	text, _ := d.Text()
	m := d.Metadata()
	return pageResult{text: text, title: m.Title, byline: m.Byline, kind: string(d.Content().Type)}
}

// scores adds up the figures of one corpus.
type scores struct {
	n, p, r, f1      float64
	hit, miss, wrong int
	types            map[string][2]float64
	title, titles    int
	byline, bylines  int
	right            int // pages taken for what they are
	worst            []string
}

func newScores() *scores { return &scores{types: map[string][2]float64{}} }

func (s *scores) add(set string, p corpusPage, got pageResult) {
	s.n++
	var q float64
	switch set {
	case "trafilatura":
		h, m, w := segments(p, got.text)
		s.hit, s.miss, s.wrong = s.hit+h, s.miss+m, s.wrong+w
		q = 2 * float64(h) / max(1, float64(2*h+m+w))
	case "scrapinghub":
		tp, fp, fn := overlap(shingles(p.truth), shingles(got.text))
		if tp+fp > 0 {
			s.p += tp / (tp + fp)
		}
		s.r += tp / (tp + fn)
		q = 2 * tp / (2*tp + fp + fn)
	default:
		tp, fp, fn := overlap(bag(p.truth), bag(got.text))
		if tp+fp+fn == 0 {
			tp = 1
		}
		q = 2 * tp / (2*tp + fp + fn)
		s.f1 += q
		if tp > 0 {
			s.p += tp / (tp + fp)
			s.r += tp / (tp + fn)
		}
		if p.kind == got.kind {
			s.right++
		}
		k := s.types[p.kind]
		s.types[p.kind] = [2]float64{k[0] + q, k[1] + 1}
	}
	if p.title != "" && set == "mozilla" {
		s.titles++
		if strings.EqualFold(fold(p.title), fold(got.title)) {
			s.title++
		}
	}
	if p.byline != "" && set == "mozilla" {
		s.bylines++
		if strings.EqualFold(fold(p.byline), fold(got.byline)) {
			s.byline++
		}
	}
	if q < pageFloor {
		s.worst = append(s.worst, fmt.Sprintf("%.3f %s %s taken for %s", q, p.name, p.kind, got.kind))
	}
}

func (s *scores) total(set string) float64 {
	switch set {
	case "trafilatura":
		return float64(2*s.hit) / float64(2*s.hit+s.miss+s.wrong)
	case "scrapinghub":
		p, r := s.p/s.n, s.r/s.n
		return 2 * p * r / (p + r)
	}
	return s.f1 / s.n
}

// String is the figures of a set, the worst pages first.
func (s *scores) String() string {
	var b strings.Builder
	slices.Sort(s.worst)
	for _, w := range s.worst {
		fmt.Fprintf(&b, "\n%s", w)
	}
	switch {
	case s.hit > 0:
		fmt.Fprintf(&b, "\nF1 %.4f hit %d miss %d wrong %d", s.total("trafilatura"), s.hit, s.miss, s.wrong)
	case s.f1 == 0:
		fmt.Fprintf(&b, "\nF1 %.4f precision %.4f recall %.4f", s.total("scrapinghub"), s.p/s.n, s.r/s.n)
	default:
		fmt.Fprintf(&b, "\nF1 %.4f precision %.4f recall %.4f", s.f1/s.n, s.p/s.n, s.r/s.n)
	}
	if s.right > 0 {
		fmt.Fprintf(&b, " types %d/%.0f", s.right, s.n)
	}
	if s.titles > 0 {
		fmt.Fprintf(&b, " titles %d/%d bylines %d/%d", s.title, s.titles, s.byline, s.bylines)
	}
	for _, k := range []string{"article", "forum", "product", "collection", "listing", "documentation", "service"} {
		if v := s.types[k]; v[1] > 0 {
			fmt.Fprintf(&b, " %s %.3f", k, v[0]/v[1])
		}
	}
	return b.String()
}

// words are the runs of letters, digits and underscores.
func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}

func bag(s string) map[string]int {
	m := map[string]int{}
	for _, w := range words(strings.ToLower(s)) {
		m[w]++
	}
	return m
}

func shingles(s string) map[string]int {
	w, m := words(s), map[string]int{}
	for i := range max(1, len(w)-3) {
		m[strings.Join(w[i:min(i+4, len(w))], " ")]++
	}
	return m
}

func overlap(want, got map[string]int) (tp, fp, fn float64) {
	for k, n := range want {
		tp += float64(min(n, got[k]))
		fn += float64(max(0, n-got[k]))
	}
	for k, n := range got {
		fp += float64(max(0, n-want[k]))
	}
	return tp, fp, fn
}

func segments(p corpusPage, text string) (hit, miss, wrong int) {
	text = fold(text)
	for _, s := range p.with {
		if strings.Contains(text, fold(s)) {
			hit++
		} else {
			miss++
		}
	}
	for _, s := range p.without {
		if strings.Contains(text, fold(s)) {
			wrong++
		}
	}
	return hit, miss, wrong
}

func loadScrapinghub(t testing.TB, dir string) (pages []corpusPage) {
	var truth map[string]struct{ ArticleBody, URL string }
	readJSON(t, filepath.Join(dir, "ground-truth.json.gz"), &truth)
	for id, v := range truth {
		pages = append(pages, corpusPage{name: id, url: v.URL, truth: v.ArticleBody, raw: gunzip(t, filepath.Join(dir, "html", id+".html.gz"))})
	}
	return sorted(pages)
}

func loadWCXB(t testing.TB, dir string) (pages []corpusPage) {
	for line := range strings.Lines(string(gunzip(t, filepath.Join(dir, "ground-truth.jsonl.gz")))) {
		var v struct {
			ID, URL, Title string
			Type           string `json:"page_type"`
			Main           string `json:"main_content"`
			With, Without  []string
		}
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		pages = append(pages, corpusPage{name: v.ID, url: v.URL, kind: v.Type, truth: v.Main, title: v.Title,
			with: v.With, without: v.Without, raw: gunzip(t, filepath.Join(dir, "html", v.ID+".html.gz"))})
	}
	return sorted(pages)
}

func loadTrafilatura(t testing.TB, dir string) (pages []corpusPage) {
	var truth map[string]struct {
		File          string
		With, Without []string
	}
	readJSON(t, filepath.Join(dir, "evaldata.json.gz"), &truth)
	for address, v := range truth {
		pages = append(pages, corpusPage{name: v.File, url: address, with: v.With, without: v.Without, raw: gunzip(t, filepath.Join(dir, "html", v.File+".gz"))})
	}
	return sorted(pages)
}

func loadMozilla(t testing.TB, dir string) (pages []corpusPage) {
	dirs, err := filepath.Glob(filepath.Join(dir, "*", "source.html.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range dirs {
		d := filepath.Dir(name)
		var meta struct{ Title, Byline string }
		readJSON(t, filepath.Join(d, "expected-metadata.json.gz"), &meta)
		pages = append(pages, corpusPage{name: filepath.Base(d), url: "http://fakehost/test/page.html", raw: gunzip(t, name),
			truth: allText(t, gunzip(t, filepath.Join(d, "expected.html.gz"))), title: meta.Title, byline: meta.Byline})
	}
	return sorted(pages)
}

// allText is the text of HTML with a space around elements that are no part of
// a line.
func allText(t testing.TB, page []byte) string {
	root, err := html.Parse(strings.NewReader(string(page)))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	var write func(n *html.Node)
	write = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
		if n.DataAtom == atom.Script || n.DataAtom == atom.Style {
			return
		}
		inline := strings.Contains(" a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd mark q s samp small span strike strong sub sup time tt u var wbr ", " "+n.Data+" ")
		if !inline {
			b.WriteByte(' ')
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			write(c)
		}
		if !inline {
			b.WriteByte(' ')
		}
	}
	write(root)
	return b.String()
}

func sorted(pages []corpusPage) []corpusPage {
	slices.SortFunc(pages, func(a, b corpusPage) int { return strings.Compare(a.name, b.name) })
	return pages
}

func readJSON(t testing.TB, name string, to any) {
	t.Helper()
	if err := json.Unmarshal(gunzip(t, name), to); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func corpusDir(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		corpus := filepath.Join(dir, "..", "shared", "data", "extract", name)
		if _, err := os.Stat(corpus); err == nil {
			return corpus
		}
		if dir == filepath.Dir(dir) {
			t.Skip("the corpus ../shared/data/extract is not here")
		}
	}
}

func gunzip(t testing.TB, name string) []byte {
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
