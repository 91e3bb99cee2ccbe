// Package readme runs every block of the README, so that what it says is what
// happens. What needs a key or the internet runs against stand-ins on loopback,
// set by environment; the addresses that the README names are replaced by free
// ones.
package readme

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/internal/suite"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

// reader is somebody who follows the README in a folder of their own.
type reader struct {
	dir     string
	env     []string
	replace *strings.Replacer
	stop    func()
}

func TestEveryBlockRuns(t *testing.T) {
	w := world.New(t, script)
	r := &reader{dir: t.TempDir(), stop: func() {}}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(r.dir, "bin/nanoclaw"), "./services/cmd/nanoclaw")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	site := strings.TrimPrefix(w.Site.URL, "http://")
	stands := []string{
		"NANOCLAW_NETGUARD_ALLOW=" + site, "NANOCLAW_SEARCH_BING_BASE_URL=" + w.Site.URL, "PAGE=" + w.Site.URL + "/article",
	}
	r.env = slices.Concat(os.Environ(), stands)
	defer func() { r.stop() }()
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
				r.serve(t)
			}
		case b.text == "make run\n":
			r.serve(t)
		case b.text == "make test\n": // this test is a part of it
		case b.lang == "sh":
			out := r.run(t, b.text)
			for name, want := range expected {
				if strings.Contains(b.text, name) {
					done[name] = true
					if !strings.Contains(out, want) {
						t.Errorf("%s\nlacks %q:\n%s", b.text, want, out)
					}
				}
			}
		default:
			t.Errorf("nobody runs a block of %q: %s", b.lang, b.text)
		}
	}
	for name := range expected {
		if !done[name] {
			t.Errorf("no block has %q any more", name)
		}
	}
}

// expected is what a block that holds the key prints.
var expected = map[string]string{
	"tools list":    "web_search",
	"fetch $":       world.Article,
	"inspect url":   `"verdict":"deny"`,
	"chat":          world.Article,
	"curl -sN":      "event: done",
	"conversations": "event: tool_result",
}

// config checks a block of config.yml.
func (r *reader) config(t *testing.T, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, warnings, err := suite.Load(suite.LoadOptions{File: file, FileRequired: true, Env: []string{"GLM_API_KEY=a-key"}})
	if err != nil || len(warnings) > 0 {
		t.Errorf("%s\n%v %v", text, err, warnings)
	}
}

// serve does what make run does after the build, on free ports.
func (r *reader) serve(t *testing.T) {
	t.Helper()
	r.stop()
	ctx, cancel := context.WithCancel(context.Background())
	serve := exec.CommandContext(ctx, "bin/nanoclaw", "serve", "--http-addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0")
	serve.Dir, serve.Env = r.dir, r.env
	serve.Cancel = func() error { return serve.Process.Signal(os.Interrupt) }
	serve.WaitDelay = 15 * time.Second
	var log bytes.Buffer
	serve.Stderr = &log
	out, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	r.stop = func() { cancel(); _ = serve.Wait() }
	ready := regexp.MustCompile(`ready: http://([^/]+)/\?token=\S+ \(gRPC ([^,]+),`)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if m := ready.FindStringSubmatch(lines.Text()); m != nil {
			r.replace = strings.NewReplacer("127.0.0.1:3000", m[1])
			r.env = append(r.env, "NANOCLAW_GRPC_ADDR="+m[2])
			go func() { // what else it prints
				for lines.Scan() {
				}
			}()
			return
		}
	}
	r.stop()
	t.Fatalf("serve was not ready: %s", log.String())
}

// run runs a block as it stands, but for its addresses.
func (r *reader) run(t *testing.T, text string) string {
	t.Helper()
	sh := exec.CommandContext(t.Context(), "sh", "-eu", "-c", r.replace.Replace(text))
	sh.Dir, sh.Env = r.dir, r.env
	var stderr bytes.Buffer
	sh.Stderr = &stderr
	out, err := sh.Output()
	if err != nil {
		t.Errorf("%s\n%v\n%s%s", text, err, out, stderr.String())
	}
	return string(out)
}
