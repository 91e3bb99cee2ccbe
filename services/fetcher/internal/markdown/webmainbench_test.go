package markdown

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// maxCompared bounds the texts whose similarity is measured, in characters: the
// time grows with the square.
const maxCompared = 3_000

// TestTheSixPagesOfWebMainBench prints how alike our Markdown of the content is
// to the one that people wrote. The content is what the set itself marks in its
// pages, else the body: how well it is found is not measured here.
func TestTheSixPagesOfWebMainBench(t *testing.T) {
	for _, s := range webMainBench(t) {
		root, o := parse(t, s.HTML)
		o.Skip = onlyMarked(root)
		var b strings.Builder
		Write(&b, root, o)
		got := b.String()
		t.Logf("%s: text %.3f (without links and escapes %.3f), code %.3f, tables %.3f", s.URL, alike(got, s.Want), alike(bare(got), bare(s.Want)), alike(fences(got), fences(s.Want)), alike(pipes(got), pipes(s.Want)))
		if strings.TrimSpace(got) == "" {
			t.Errorf("%s: nothing was written", s.URL)
		}
		if want := fences(s.Want); want != "" && alike(fences(got), want) < 0.9 {
			t.Errorf("%s: the code blocks are\n%s\nwant\n%s", s.URL, fences(got), want)
		}
	}
}

type benchPage struct {
	URL  string `json:"url"`
	HTML string `json:"html"`
	Want string `json:"groundtruth_content"`
}

func webMainBench(t *testing.T) []benchPage {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		f, err := os.Open(filepath.Join(dir, "..", "shared", "data", "extract", "webmainbench-md", "samples.jsonl.gz"))
		if err == nil {
			defer func() { _ = f.Close() }()
			z, err := gzip.NewReader(f)
			if err != nil {
				t.Fatal(err)
			}
			var pages []benchPage
			lines := bufio.NewScanner(z)
			lines.Buffer(nil, 16<<20)
			for lines.Scan() {
				var p benchPage
				if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
					t.Fatal(err)
				}
				pages = append(pages, p)
			}
			if err := lines.Err(); err != nil {
				t.Fatal(err)
			}
			return pages
		}
		if dir == filepath.Dir(dir) {
			t.Skip("the corpus ../shared/data/extract/webmainbench-md is not here")
		}
	}
}

// onlyMarked leaves out all that the set does not mark as content: elements
// that are neither marked, nor hold anything marked, nor stand in it. It is nil
// when the set marks nothing.
func onlyMarked(root *html.Node) func(*html.Node) bool {
	keep := map[*html.Node]bool{}
	for n := range root.Descendants() {
		if attr(n, "cc-select") != "true" {
			continue
		}
		for p := n; p != nil && !keep[p]; p = p.Parent {
			keep[p] = true
		}
		for d := range n.Descendants() {
			keep[d] = true
		}
	}
	if len(keep) == 0 {
		return nil
	}
	return func(n *html.Node) bool { return n.Type == html.ElementNode && !keep[n] }
}

var fence = regexp.MustCompile("(?s)(?:^|\n)(`{3,})[^\n]*\n(.*?)\n ?`{3,}")

// fences is the code of all fenced blocks.
func fences(md string) string {
	var b strings.Builder
	for _, m := range fence.FindAllStringSubmatch(md, -1) {
		b.WriteString(m[2] + "\n")
	}
	return b.String()
}

var linkOrEscape = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)|\\([^\w\s])`)

// bare is a text without the addresses of its links and without escapes.
func bare(md string) string { return linkOrEscape.ReplaceAllString(md, "$1$2") }

// pipes is all lines of tables.
func pipes(md string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(md, "\n") {
		if strings.HasPrefix(line, "|") {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// alike is 1 less the edit distance of two texts over the length of the longer
// one, white space folded; 1 for two empty ones.
func alike(a, b string) float64 {
	x, y := []rune(folded(a)), []rune(folded(b))
	x, y = x[:min(len(x), maxCompared)], y[:min(len(y), maxCompared)]
	if len(x)+len(y) == 0 {
		return 1
	}
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			cost := diagonal
			if x[i] != y[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return 1 - float64(row[len(y)])/float64(max(len(x), len(y)))
}
