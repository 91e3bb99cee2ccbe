package edge

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"

	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// call is one route of a method.
type call struct {
	method
	rule          *annotations.HttpRule
	verb, pattern string
}

// calls are all routes of the contracts, those that take things away last.
func calls(t *testing.T) []call {
	t.Helper()
	var all []call
	for _, m := range methods(t) {
		for _, rule := range m.rules {
			verb, pattern := binding(t, rule)
			all = append(all, call{m, rule, verb, pattern})
		}
	}
	slices.SortStableFunc(all, func(a, b call) int {
		return cmp.Compare(strings.Count(a.verb, "DELETE"), strings.Count(b.verb, "DELETE"))
	})
	return all
}

// Live answers of every route are what the document says: a good one, one
// without a token, and one to a body that cannot be read.
func TestAnswersOfEveryRouteFitTheServedDocument(t *testing.T) {
	h := newHouse(t)
	served := route{method: "GET", path: "/openapi.yaml"}.ask(t, h.owner.Client, nil)
	d := parseDescribed(t, served.text)
	nobody := *h.owner.Client
	nobody.Token = ""
	for _, c := range calls(t) {
		t.Run(c.verb+" "+c.pattern, func(t *testing.T) {
			r := asHTTP(t, c.rule, c.fill(t, h, func(string) *person { return &h.owner }))
			documented := d.at("paths", strings.TrimSuffix(c.pattern, ":stream"), strings.ToLower(c.verb))
			if documented == nil {
				t.Fatal("the document does not have this route")
			}
			d.fitsAnswer(t, documented, r, &nobody, http.StatusUnauthorized)
			if r.body != nil {
				strange := r
				strange.body = map[string]any{"nonsense": 1}
				if c.pattern == "/chat" { // takes members that it does not know
					strange.body = map[string]any{"message": true}
				}
				d.fitsAnswer(t, documented, strange, h.owner.Client, http.StatusBadRequest)
			}
			if c.streams {
				d.fitsEvents(t, c.pattern, r, h.owner.Client)
				return
			}
			d.fitsAnswer(t, documented, r, h.owner.Client, http.StatusOK)
		})
	}
}

// fitsAnswer asks and holds the answer against what is documented of its status.
func (d described) fitsAnswer(t *testing.T, documented map[string]any, r httpRequest, as *world.Client, status int) {
	t.Helper()
	code, text, answer := r.send(t, as)
	if code != status {
		t.Errorf("%s answers %d %s, want %d", r, code, text, status)
		return
	}
	responses := described(documented).at("responses")
	response, ok := responses[strconv.Itoa(status)].(map[string]any)
	if !ok {
		response, ok = responses["default"].(map[string]any)
	}
	schema, has := response["schema"].(map[string]any)
	if !ok || !has {
		t.Errorf("%s: the document does not say what a %d looks like", r, status)
		return
	}
	if problem := d.problem(schema, answer, "answer"); problem != "" {
		t.Errorf("%s answers %d: %s in %s", r, status, problem, text)
	}
}

// eventsOf are the message of a stream's events and those that every stream has.
func eventsOf(pattern string) (definition string, some []string) {
	if strings.HasPrefix(pattern, "/api/crawler/") {
		return "v1CrawlEvent", []string{"progress", "page", "state", "done"}
	}
	return "v1RunEvent", []string{"run_started", "usage", "done"}
}

// fitsEvents reads a stream to its end. Its events are members of one message,
// by their names.
func (d described) fitsEvents(t *testing.T, pattern string, r httpRequest, as *world.Client) {
	t.Helper()
	var body any
	if r.body != nil {
		body = r.body
	}
	res, err := as.Do(deadline(t), r.method, r.path, body)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s answers %s %s", r, res.Status, res.Header.Get("Content-Type"))
	}
	definition, some := eventsOf(pattern)
	seen := map[string]bool{}
	world.Events(res.Body, func(e world.Event) bool {
		seen[e.Name] = true
		if problem := d.problem(map[string]any{"$ref": "#/definitions/" + definition}, map[string]any{e.Name: map[string]any(e.Data)}, "event"); problem != "" {
			t.Errorf("%s: %s in %v", r, problem, e.Data)
		}
		return true
	})
	for _, name := range some {
		if !seen[name] {
			t.Errorf("%s streams only %v", r, sorted(seen))
		}
	}
}

// The routes of the gateway itself, which no contract has.
func TestAnswersOfTheGatewayItselfFitTheServedDocument(t *testing.T) {
	_, _, c := startWorld(t)
	d := parseDescribed(t, route{method: "GET", path: "/openapi.yaml"}.ask(t, c, nil).text)
	for _, path := range []string{"/healthz", "/readyz"} {
		d.fitsAnswer(t, d.at("paths", path, "get"), httpRequest{method: "GET", path: path}, c, http.StatusOK)
	}
}
