package edge

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// openAPI is the part of the served document that tests read.
type openAPI struct {
	Swagger string `yaml:"swagger"`
	Info    struct {
		Title   string `yaml:"title"`
		Version string `yaml:"version"`
	} `yaml:"info"`
	Paths       map[string]map[string]operation `yaml:"paths"`
	Definitions map[string]yaml.Node            `yaml:"definitions"`
}

type operation struct {
	Summary    string   `yaml:"summary"`
	Produces   []string `yaml:"produces"`
	Parameters []struct {
		In string `yaml:"in"`
	} `yaml:"parameters"`
	Responses map[string]struct {
		Schema struct {
			Ref        string               `yaml:"$ref"`
			Required   []string             `yaml:"required"`
			Properties map[string]yaml.Node `yaml:"properties"`
		} `yaml:"schema"`
	} `yaml:"responses"`
	// Security that is there and empty says that no token is needed.
	Security *[]map[string][]string `yaml:"security"`
}

// document reads the OpenAPI document that is served.
func document(t *testing.T, c *world.Client) openAPI {
	t.Helper()
	got := route{method: "GET", path: "/openapi.yaml"}.ask(t, c, nil)
	if got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != "application/yaml" {
		t.Fatalf("%d %s", got.StatusCode, got.Header.Get("Content-Type"))
	}
	var d openAPI
	if err := yaml.Unmarshal([]byte(got.text), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Paths) < 15 {
		t.Fatalf("the document has %d paths", len(d.Paths))
	}
	return d
}

// routes are the routes of the document, with something in place of each
// parameter.
func (d openAPI) routes() []route {
	var all []route
	for _, path := range sorted(d.Paths) {
		for _, method := range sorted(d.Paths[path]) {
			op := d.Paths[path][method]
			r := route{method: strings.ToUpper(method), path: pathParameter.ReplaceAllString(path, "x1")}
			r.open = op.Security != nil && len(*op.Security) == 0
			for _, p := range op.Parameters {
				r.hasBody = r.hasBody || p.In == "body"
			}
			all = append(all, r)
		}
	}
	return all
}

// fileBytes is the one route of the API without an envelope.
const fileBytes = "GET /api/workspaces/{workspace_id}/files/content"

// contractRoutes are the routes of CONTRACT that there are now, and whether they
// answer events.
var contractRoutes = []struct {
	route  string
	events bool
}{
	{"GET /api/tools", false},
	{"POST /api/tools/{name}/invoke", false},
	{"POST /api/conversations", false},
	{"GET /api/conversations", false},
	{"GET /api/conversations/{conversation_id}", false},
	{"PATCH /api/conversations/{conversation_id}", false},
	{"DELETE /api/conversations/{conversation_id}", false},
	{"GET /api/conversations/{conversation_id}/messages", false},
	{"POST /api/conversations/{conversation_id}/messages", true},
	{"POST /api/conversations/{conversation_id}/messages/{message_id}/regenerate", true},
	{"GET /api/runs/{run_id}", false},
	{"GET /api/runs/{run_id}/events", true},
	{"POST /api/runs/{run_id}/cancel", false},
	{"POST /chat", false},
	{"POST /api/search", false},
	{"GET /api/search/providers", false},
	{"POST /api/fetch", false},
	{"POST /api/crawler/tasks", false},
	{"GET /api/crawler/tasks", false},
	{"GET /api/crawler/tasks/{task_id}", false},
	{"GET /api/crawler/tasks/{task_id}/results", false},
	{"GET /api/crawler/tasks/{task_id}/events", true},
	{"POST /api/crawler/tasks/{task_id}/cancel", false},
	{"GET /api/workspaces", false},
	{"DELETE /api/workspaces/{workspace_id}", false},
	{"GET /api/workspaces/{workspace_id}/files", false},
	{"POST /api/workspaces/{workspace_id}/files", false},
	{"DELETE /api/workspaces/{workspace_id}/files", false},
	{"GET /api/workspaces/{workspace_id}/files/text", false},
	{fileBytes, false},
	{"GET /api/models", false},
	{"POST /api/models/check", false},
	{"GET /api/server", false},
	{"GET /api/usage", false},
	{"POST /api/tokens", false},
	{"GET /api/tokens", false},
	{"GET /api/tokens/{token_id}", false},
	{"PATCH /api/tokens/{token_id}", false},
	{"DELETE /api/tokens/{token_id}", false},
	{"GET /healthz", false},
	{"GET /readyz", false},
	{"GET /openapi.yaml", false},
	{"GET /docs", false},
}

func TestTheServedDocumentHasEveryRoute(t *testing.T) {
	_, _, c := startWorld(t)
	d := document(t, c)
	if d.Swagger != "2.0" || d.Info.Title != "NanoClaw" || d.Info.Version != "test" {
		t.Errorf("the document is %s of %s, version %s", d.Swagger, d.Info.Title, d.Info.Version)
	}
	for _, want := range contractRoutes {
		method, path, _ := strings.Cut(want.route, " ")
		op, ok := d.Paths[path][strings.ToLower(method)]
		if !ok {
			t.Errorf("the document lacks %s", want.route)
			continue
		}
		if op.Summary == "" {
			t.Errorf("%s has no summary", want.route)
		}
		if got := slices.Contains(op.Produces, "text/event-stream"); got != want.events {
			t.Errorf("%s answers events: %t, want %t", want.route, got, want.events)
		}
		if !strings.HasPrefix(path, "/api/") {
			continue
		}
		if op.Responses["default"].Schema.Ref != "#/definitions/Error" {
			t.Errorf("%s does not say what errors look like", want.route)
		}
		schema := op.Responses["200"].Schema
		if want.route == fileBytes {
			continue // the file itself
		}
		if !want.events && (!slices.Equal(schema.Required, []string{"code", "data"}) || schema.Properties["data"].Kind == 0) {
			t.Errorf("%s does not say that its answer is in the envelope", want.route)
		}
	}
	if d.Definitions["Error"].Kind == 0 {
		t.Error("the document does not define Error")
	}
	// And no route is served that this test does not know.
	for path, ops := range d.Paths {
		for method := range ops {
			name := strings.ToUpper(method) + " " + path
			known := slices.ContainsFunc(contractRoutes, func(r struct {
				route  string
				events bool
			}) bool {
				return r.route == name
			})
			if !known && !strings.HasSuffix(path, ":stream") {
				t.Errorf("%s is not in the contract, or not in this test", name)
			}
		}
	}
}

// A route that is in the document is served: it answers something else than that
// there is no such route.
func TestEveryRouteOfTheDocumentIsServed(t *testing.T) {
	_, _, c := startWorld(t)
	for _, r := range document(t, c).routes() {
		t.Run(r.method+" "+r.path, func(t *testing.T) {
			got := r.ask(t, c, nil)
			if got.StatusCode == http.StatusMethodNotAllowed || strings.Contains(got.text, "there is no route") || got.StatusCode >= 500 {
				t.Errorf("answer = %d %s", got.StatusCode, got.text)
			}
			if strings.HasPrefix(r.path, "/api/") && !strings.HasPrefix(got.text, `{"code":`) {
				t.Errorf("no envelope: %s", got.text)
			}
		})
	}
}
