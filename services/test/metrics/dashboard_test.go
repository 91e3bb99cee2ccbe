// Package metrics holds the dashboard against what a server really exports.
package metrics

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const root = "../../.."

// story has whatever the dashboard shows: an answer, a tool that fails, a crawl, a
// program, and a model that refuses.
const story = `
model: scripted-metrics
turns:
  - when: {user_contains: "look up"}
    replies:
      - steps:
          - call: {name: web_search, arguments: {query: "nanoclaws size"}}
      - steps:
          - call: {name: fetch_page, arguments: {url: "{{url web_search 0}}"}}
          - call: {name: fetch_page, arguments: {url: "http://10.0.0.1/"}}
      - steps:
          - call: {name: crawl_batch, arguments: {urls: ["{{url web_search 0}}"]}}
          - call: {name: run_code, arguments: {language: bash, code: "echo 40"}}
      - steps:
          - call: {name: query_crawl_task, arguments: {task_id: "{{result crawl_batch task_id}}", wait_seconds: 50}}
      - steps:
          - text: "Forty nanometres."
  - replies:
      - http: {status: 400, body: "no"}
`

// scrape is what Prometheus reads after the story: the labels of each metric.
func scrape(t *testing.T) map[string][]string {
	t.Helper()
	w := world.New(t, story)
	w.Config.Tools.Enabled, w.Config.Tools.AutoApprove = []string{"*"}, []string{"run_code"}
	s := w.Start(t)
	c := world.ClientOf(s)
	t.Cleanup(c.HTTP.CloseIdleConnections)
	for question, end := range map[string]string{"Please look up nanoclaws": "done", "Something else": "error"} {
		res, err := c.Do(t.Context(), "POST", "/api/conversations/"+c.Conversation(t)+"/messages", map[string]any{"content": question})
		if err != nil {
			t.Fatal(err)
		}
		var last world.Event
		world.Events(res.Body, func(e world.Event) bool { last = e; return true })
		_ = res.Body.Close()
		if last.Name != end {
			t.Fatalf("%q ended with %v, want %s", question, last, end)
		}
	}
	if code, _ := c.JSON(t, "GET", "/api/runs/run_of_nobody", nil); code != http.StatusNotFound {
		t.Fatalf("a run of nobody: %d", code)
	}
	admin := &world.Client{Base: "http://" + s.AdminAddr(), HTTP: c.HTTP}
	res, err := admin.Do(t.Context(), "GET", "/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return labelsOf(string(text))
}

var (
	sample = regexp.MustCompile(`(?m)^([a-z_][a-z0-9_]*)(?:\{(.*)\})? \S+$`)
	label  = regexp.MustCompile(`([a-z_]+)="`)
)

func labelsOf(exposition string) map[string][]string {
	sets := map[string]map[string]bool{}
	for _, line := range sample.FindAllStringSubmatch(exposition, -1) {
		if sets[line[1]] == nil {
			// What Prometheus adds by itself.
			sets[line[1]] = map[string]bool{"job": true, "instance": true}
		}
		for _, l := range label.FindAllStringSubmatch(line[2], -1) {
			sets[line[1]][l[1]] = true
		}
	}
	out := map[string][]string{}
	for name, set := range sets {
		out[name] = slices.Sorted(maps.Keys(set))
	}
	return out
}

// query is what a PromQL expression of the dashboard asks for.
type query struct{ metrics, labels []string }

var (
	literal  = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	span     = regexp.MustCompile(`\[[^\]]*\]`)
	matchers = regexp.MustCompile(`\{([^}]*)\}`)
	grouping = regexp.MustCompile(`\b(?:by|without)\s*\(([^)]*)\)`)
	name     = regexp.MustCompile(`[a-zA-Z_][a-zA-Z0-9_]*`)
	// functions are the names in our expressions that are no metrics.
	functions = []string{"sum", "count", "rate", "histogram_quantile"}
)

func parse(expr string) query {
	var q query
	expr = span.ReplaceAllString(literal.ReplaceAllString(expr, ""), "")
	for _, names := range []*regexp.Regexp{matchers, grouping} {
		for _, m := range names.FindAllStringSubmatch(expr, -1) {
			q.labels = append(q.labels, name.FindAllString(m[1], -1)...)
		}
		expr = names.ReplaceAllString(expr, "")
	}
	for _, n := range name.FindAllString(expr, -1) {
		if !slices.Contains(functions, n) {
			q.metrics = append(q.metrics, n)
		}
	}
	return q
}

func TestExpressionsAreReadRight(t *testing.T) {
	q := parse(`histogram_quantile(0.95, sum by (le, tool) (rate(calls_seconds_bucket{job=~"$job",x="a,b{c}"}[$__rate_interval]))) / total{job="j"}`)
	if want := []string{"calls_seconds_bucket", "total"}; !slices.Equal(q.metrics, want) {
		t.Errorf("metrics %v, want %v", q.metrics, want)
	}
	if want := []string{"job", "x", "job", "le", "tool"}; !slices.Equal(q.labels, want) {
		t.Errorf("labels %v, want %v", q.labels, want)
	}
}

type dashboard struct {
	UID, Title string
	Panels     []panel
	Templating struct {
		List []struct{ Name, Type string }
	}
}

type panel struct {
	ID      int
	Type    string
	Title   string
	GridPos struct{ H, W, X, Y int }
	Targets []struct{ Expr, LegendFormat string }
}

func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "deploy/grafana/dashboards/*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	out := map[string]dashboard{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out[filepath.Base(file)] = d
	}
	return out
}

func TestDashboardsAskForWhatIsExported(t *testing.T) {
	exported := scrape(t)
	for file, d := range dashboards(t) {
		ids := map[int]bool{}
		for _, p := range d.Panels {
			if ids[p.ID] || p.Title == "" || p.GridPos.X+p.GridPos.W > 24 {
				t.Errorf("%s: panel %d %q: a second of its id, without a title, or outside of the grid", file, p.ID, p.Title)
			}
			ids[p.ID] = true
			if p.Type != "row" && len(p.Targets) == 0 {
				t.Errorf("%s: %s shows nothing", file, p.Title)
			}
			for _, target := range p.Targets {
				q := parse(target.Expr)
				if len(q.metrics) == 0 {
					t.Errorf("%s: %s: no metric in %s", file, p.Title, target.Expr)
				}
				for _, m := range q.metrics {
					labels, ok := exported[m]
					if !ok {
						t.Errorf("%s: %s: %s is not exported", file, p.Title, m)
					}
					for _, l := range q.labels {
						if ok && !slices.Contains(labels, l) {
							t.Errorf("%s: %s: %s has no label %s; it has %v", file, p.Title, m, l, labels)
						}
					}
				}
				for _, shown := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(target.LegendFormat, -1) {
					if !slices.Contains(q.labels, shown[1]) {
						t.Errorf("%s: %s: the legend shows %s, which %s does not keep", file, p.Title, shown[1], target.Expr)
					}
				}
			}
		}
	}
}

// Whatever our code measures is worth a look: a metric of ours on no panel is
// one that nobody will find.
func TestEveryMetricOfOursIsShown(t *testing.T) {
	shown := map[string]bool{}
	for _, d := range dashboards(t) {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				for _, m := range parse(target.Expr).metrics {
					shown[family(m)] = true
				}
			}
		}
	}
	for m := range scrape(t) {
		if ours := strings.HasPrefix(m, "gen_ai_") || strings.HasPrefix(m, "nanoclaw_"); ours && !shown[family(m)] {
			t.Errorf("%s is on no dashboard", m)
		}
	}
}

// family is a metric without the suffixes of histograms.
func family(metric string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(metric, suffix); ok {
			return base
		}
	}
	return metric
}
