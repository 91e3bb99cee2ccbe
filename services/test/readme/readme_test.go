// Package readme runs every block of the README, so that what it says is what
// happens. What needs a key or the internet runs against stand-ins on loopback,
// set by environment; the addresses that the README names are replaced by free
// ones.
package readme

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/otlptest"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		world.RemovePrograms()
		os.Exit(code)
	}))
}

const root = "../../.."

// block is a fenced block of a document.
type block struct{ lang, text string }

func blocks(t *testing.T, name string) (found []block, headings int) {
	t.Helper()
	f, err := os.Open(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var open *block
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		lang, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			open = &block{lang: lang}
		case fence:
			found, open = append(found, *open), nil
		case open != nil:
			open.text += line + "\n"
		case strings.HasPrefix(line, "#"):
			headings++
		}
	}
	if open != nil {
		t.Fatalf("%s: a block is not closed", name)
	}
	return found, headings
}

func TestBothLanguagesSayTheSame(t *testing.T) {
	english, headings := blocks(t, "README.md")
	chinese, chineseHeadings := blocks(t, "README.zh-CN.md")
	if !slices.Equal(english, chinese) {
		t.Errorf("the blocks differ:\n%q\n%q", english, chinese)
	}
	if headings != chineseHeadings {
		t.Errorf("%d headings in English, %d in Chinese", headings, chineseHeadings)
	}
	link := regexp.MustCompile(`\]\(([^)#]+)\)`)
	keys := regexp.MustCompile("(?m)^\\| (`[^|]+) \\|")
	var documents [2]string
	for i, name := range []string{"README.md", "README.zh-CN.md"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		documents[i] = string(text)
		for _, m := range link.FindAllStringSubmatch(documents[i], -1) {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
			}
		}
	}
	if a, b := keys.FindAllString(documents[0], -1), keys.FindAllString(documents[1], -1); !slices.Equal(a, b) || len(a) == 0 {
		t.Errorf("the tables of keys differ:\n%q\n%q", a, b)
	}
}

func TestTheTestCommandIsWhatCIRuns(t *testing.T) {
	found, _ := blocks(t, "README.md")
	if !slices.Contains(found, block{"sh", "make test\n"}) {
		t.Fatal("the README has no block with make test")
	}
	ci, err := os.ReadFile(filepath.Join(root, ".ci/run"))
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`make( --\S+)* test\b`).Match(ci) {
		t.Error(".ci/run does not call make test")
	}
}

const script = `
model: scripted-readme
turns:
  - replies:
      - steps:
          - call: {name: web_search, arguments: {query: "nanoclaws size"}}
      - steps:
          - call: {name: fetch_page, arguments: {url: "{{url web_search 0}}"}}
      - steps:
          - text: "{{result fetch_page content.text}} Source: {{url web_search 0}}"
`

func TestEveryBlockRuns(t *testing.T) {
	w := world.New(t, script)
	collector := otlptest.Start(t)
	r := newReader(t, w, collector.Endpoint())
	defer r.stop(t)
	done := map[string]bool{}
	found, _ := blocks(t, "README.md")
	for _, b := range found {
		switch {
		case b.lang == "text":
		case b.lang == "json":
			if !json.Valid([]byte(b.text)) {
				t.Errorf("not JSON: %s", b.text)
			}
		case b.lang == "yaml":
			r.config(t, b.text)
			if strings.Contains(b.text, "models:") { // "then start NanoClaw again"
				r.env = append(r.env, `NANOCLAW_MODELS=[{id: glm-5, api_url: "`+w.ModelURL+`", api_key: a-key-for-tests}]`)
				r.stop(t)
				r.serve(t, "bin/nanoclaw serve")
			}
		case b.text == "make run\n":
			r.serve(t, "bin/nanoclaw serve")
		case b.text == "make test\n": // this test is a part of it
		case b.text == "make demo\n":
			r.inASandbox(t, done, "bin/nanoclaw demo")
		case strings.Contains(b.text, "models check"):
			// The stand-in passes no test of a model; what counts is the report.
			if out, _ := r.try(t, b.text); !strings.Contains(out, "Recommended: ") || !strings.Contains(out, "18 calls of 18 kinds") {
				t.Errorf("%s\nprints %s", b.text, out)
			}
			done["models check"] = true
		case strings.Contains(b.text, "nanoclaw run"):
			r.inASandbox(t, done, b.text)
		case strings.Contains(b.text, "EXPORTER=otlp"):
			r.stop(t)
			r.serve(t, b.text)
			r.ask(t)
			r.stop(t) // what it has not sent yet is sent now
			if !slices.ContainsFunc(collector.Spans(), func(s otlptest.Span) bool { return s.Name == "execute_tool fetch_page" }) {
				t.Errorf("the collector got no call of a tool: %v", collector.Spans())
			}
			done["EXPORTER=otlp"] = true
		case strings.Contains(b.text, "serve search"):
			r.stop(t)
			r.serve(t, b.text)
		case strings.Contains(b.text, "SERVICES_SEARCH"):
			r.serve(t, b.text)
			r.ask(t)
			done["SERVICES_SEARCH"] = true
		case b.lang == "sh":
			r.check(t, done, b.text)
		default:
			t.Errorf("nobody runs a block of %q: %s", b.lang, b.text)
		}
	}
	for _, name := range append(slices.Collect(maps.Keys(expected)), "models check", "EXPORTER=otlp", "SERVICES_SEARCH") {
		if !done[name] {
			t.Errorf("no block has %q any more", name)
		}
	}
}

// check runs a block and looks for what is expected of it.
func (r *reader) check(t *testing.T, done map[string]bool, text string) {
	t.Helper()
	out := r.run(t, text)
	for name, want := range expected {
		if strings.Contains(text, name) {
			done[name] = true
			if !strings.Contains(out, want) {
				t.Errorf("%s\nlacks %q:\n%s", text, want, out)
			}
		}
	}
}

// inASandbox is check for what needs a sandbox. Where there can be none, the
// README says that code is refused.
func (r *reader) inASandbox(t *testing.T, done map[string]bool, text string) {
	t.Helper()
	if out, err := r.try(t, "bin/nanoclaw sandbox check"); err != nil {
		t.Logf("no sandbox on this machine: %s", out)
		for name := range expected {
			done[name] = done[name] || strings.Contains(text, name)
		}
		return
	}
	r.check(t, done, text)
}

// expected is what a block that holds the key prints.
var expected = map[string]string{
	"nanoclaw demo":     "5 tools worked",
	"nanoclaw run":      "42",
	"sandbox check":     "bubblewrap",
	"crawl $":           world.Article,
	"tasks list":        "completed",
	"tools list":        "web_search",
	"fetch $":           world.Article,
	"fetch -":           `Gull,"7,5"`,
	"search providers":  "bing",
	"--explain":         "1. ",
	"inspect url":       `"verdict":"deny"`,
	"inspect args":      `"repairs":["trailing comma removed"]`,
	"inspect stream":    `"name":"now","arguments":{}`,
	"nanoclaw models\n": "glm-5",
	"chat":              world.Article,
	"bin/outside":       world.Article,
	"curl -sN":          "event: done",
	"conversations":     "event: tool_result",
}
