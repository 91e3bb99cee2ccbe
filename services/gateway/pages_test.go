package gateway_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/nanoclaw/nanoclaw/services/gateway"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
)

// schema is as much of an OpenAPI schema as these tests look at.
type schema struct {
	Ref        string             `yaml:"$ref"`
	Type       string             `yaml:"type"`
	Properties map[string]*schema `yaml:"properties"`
	Items      *schema            `yaml:"items"`
}

type document struct {
	Info struct {
		Title, Version string
	}
	Paths map[string]map[string]struct {
		Summary   string
		Produces  []string
		Responses map[string]struct{ Schema *schema }
	}
	Definitions map[string]*schema
}

func getDocument(t *testing.T, f *fixture) (document, string) {
	t.Helper()
	got := do(t, f.request(t, "GET", "/openapi.yaml", ""))
	if got.StatusCode != 200 || got.Header.Get("Content-Type") != "application/yaml" {
		t.Fatalf("answer = %d %s", got.StatusCode, got.Header.Get("Content-Type"))
	}
	var d document
	if err := yaml.Unmarshal([]byte(got.body), &d); err != nil {
		t.Fatal(err)
	}
	return d, got.body
}

func TestTheDocumentKnowsEveryRouteAndTheEnvelope(t *testing.T) {
	f := newFixture(t, nil, func(c *gateway.Config, _ *gateway.Deps) { c.Version = "1.2.3" })
	d, text := getDocument(t, f)
	if d.Info.Title != "NanoClaw" || d.Info.Version != "1.2.3" {
		t.Errorf("info = %+v", d.Info)
	}
	for _, bad := range []string{"buf:lint", "rpcStatus", "protobufAny", "ToolProviderService", "version not set"} {
		if strings.Contains(text, bad) {
			t.Errorf("the document says %q", bad)
		}
	}
	for path, ops := range d.Paths {
		for method, op := range ops {
			if op.Summary == "" {
				t.Errorf("%s %s has no summary", method, path)
			}
			ok := op.Responses["200"].Schema
			streams := slices.Contains(op.Produces, "text/event-stream")
			switch {
			case ok == nil && !strings.HasPrefix(path, "/api"):
			case strings.HasSuffix(path, "/files/content") && ok.Type == "file":
			case streams && strings.HasSuffix(path, "/messages"):
			case streams && ok.Ref != "#/definitions/v1RunEvent" && ok.Ref != "#/definitions/v1CrawlEvent":
				t.Errorf("%s %s streams %+v", method, path, ok)
			case path == "/chat" && ok.Ref != "#/definitions/v1ChatResponse":
				t.Errorf("chat answers %+v", ok)
			case strings.HasPrefix(path, "/api") && !streams && (ok.Properties["code"] == nil || ok.Properties["data"] == nil):
				t.Errorf("%s %s answers %+v without the envelope", method, path, ok)
			}
			if strings.HasPrefix(path, "/api") && op.Responses["default"].Schema.Ref != "#/definitions/Error" {
				t.Errorf("%s %s fails with %+v", method, path, op.Responses["default"].Schema)
			}
		}
	}
	if d.Definitions["Error"] == nil || len(d.Paths["/api/conversations/{conversation_id}/messages"]["post"].Responses) < 3 {
		t.Error("what no contract has was not added")
	}
	for name := range strings.SplitSeq(text, "#/definitions/") {
		name, _, _ = strings.Cut(name, "'")
		if !strings.ContainsAny(name, " \n") && d.Definitions[name] == nil {
			t.Errorf("definition %s is missing", name)
		}
	}
}

// TestAnswersFitTheDocument checks real answers against the document that
// describes them.
func TestAnswersFitTheDocument(t *testing.T) {
	f := newFixture(t, nil)
	d, _ := getDocument(t, f)
	for _, tc := range []struct{ method, path, pattern, body, status string }{
		{"POST", "/api/conversations", "", `{}`, "200"},
		{"GET", "/api/conversations", "", "", "200"},
		{"DELETE", "/api/conversations/c1", "/api/conversations/{conversation_id}", "", "200"},
		{"POST", "/api/runs/r1/cancel", "/api/runs/{run_id}/cancel", "", "200"},
		{"POST", "/api/search", "", `{"query":"go"}`, "200"},
		{"POST", "/chat", "", `{"message":"x"}`, "200"},
		{"POST", "/api/search", "", `{"qery":"go"}`, "default"},
	} {
		pattern := tc.pattern
		if pattern == "" {
			pattern = tc.path
		}
		got := do(t, f.request(t, tc.method, tc.path, tc.body))
		var value any
		if err := json.Unmarshal([]byte(got.body), &value); err != nil {
			t.Fatal(err)
		}
		want := d.Paths[pattern][strings.ToLower(tc.method)].Responses[tc.status].Schema
		if problem := fits(d, want, value, "answer"); problem != "" {
			t.Errorf("%s %s: %s in %s", tc.method, tc.path, problem, got.body)
		}
	}
}

// fits answers why a value is not of a schema; empty when it is.
func fits(d document, s *schema, v any, at string) string {
	if s == nil {
		return at + " is not in the document"
	}
	if s.Ref != "" {
		return fits(d, d.Definitions[strings.TrimPrefix(s.Ref, "#/definitions/")], v, at)
	}
	switch v := v.(type) {
	case map[string]any:
		if s.Type != "object" {
			return at + " is an object, not " + s.Type
		}
		for k, member := range v {
			if problem := fits(d, s.Properties[k], member, at+"."+k); problem != "" {
				return problem
			}
		}
	case []any:
		if s.Type != "array" {
			return at + " is an array, not " + s.Type
		}
		for _, item := range v {
			if problem := fits(d, s.Items, item, at+"[]"); problem != "" {
				return problem
			}
		}
	case string:
		if s.Type != "string" {
			return at + " is a string, not " + s.Type
		}
	case bool:
		if s.Type != "boolean" {
			return at + " is a boolean, not " + s.Type
		}
	case float64:
		if s.Type != "integer" && s.Type != "number" {
			return at + " is a number, not " + s.Type
		}
	}
	return ""
}

func TestThePageOfRoutesListsThem(t *testing.T) {
	f := newFixture(t, nil)
	got := do(t, f.request(t, "GET", "/docs", ""))
	if got.StatusCode != 200 || !strings.Contains(got.Header.Get("Content-Security-Policy"), "default-src 'self'") {
		t.Fatalf("answer = %d %v", got.StatusCode, got.Header)
	}
	for _, r := range contractRoutes(t) {
		first, _, _ := strings.Cut(r.path, "x1")
		if !strings.Contains(got.body, first) {
			t.Errorf("the page lacks %s", r.path)
		}
	}
	if strings.Contains(got.body, "http://") || strings.Contains(got.body, "https://") || strings.Contains(got.body, "<script") {
		t.Error("the page needs something from elsewhere")
	}
}

func TestTheAppIsServedFromAFolder(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"index.html": "<p>app</p>", "assets/app-1.js": "let x", ".keep": ""} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f := newFixture(t, nil, func(c *gateway.Config, _ *gateway.Deps) { c.WebDir = dir })
	r := f.request(t, "GET", "/c/some-conversation", "")
	r.Header.Del("Authorization")
	r.Header.Set("Accept", "text/html,application/xhtml+xml")
	if got := do(t, r); got.StatusCode != 200 || got.body != "<p>app</p>" {
		t.Errorf("answer = %d %s", got.StatusCode, got.body)
	}
	mustFail(t, do(t, f.request(t, "GET", "/.keep", "")), 404, "NOT_FOUND")
}

func TestReadinessFollowsTheServices(t *testing.T) {
	f := newFixture(t, nil)
	f.health.SetServingStatus("", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	mustFail(t, do(t, f.request(t, "GET", "/readyz", "")), 503, "NOT_READY")
	if got := do(t, f.request(t, "GET", "/healthz", "")); got.StatusCode != 200 {
		t.Errorf("healthz = %d", got.StatusCode)
	}
	f.health.SetServingStatus("", grpc_health_v1.HealthCheckResponse_SERVING)
	if got := do(t, f.request(t, "GET", "/readyz", "")); got.StatusCode != 200 {
		t.Errorf("readyz = %d", got.StatusCode)
	}
}

func TestHeadersOfEveryAnswer(t *testing.T) {
	f := newFixture(t, nil)
	for _, path := range []string{"/", "/docs", "/healthz", "/api/conversations", "/api/nothing", "/api/runs/r1/events"} {
		got := do(t, f.request(t, "GET", path, ""))
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got.Header.Get(name) != want {
				t.Errorf("%s: %s = %q", path, name, got.Header.Get(name))
			}
		}
		if strings.HasPrefix(path, "/api") && got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s may be cached: %q", path, got.Header.Get("Cache-Control"))
		}
	}
}

func TestAGatewayThatCannotBeBuiltSaysWhy(t *testing.T) {
	conn := (&backend{}).start(t)
	for _, tc := range []struct {
		name string
		cfg  func(*gateway.Config)
		deps gateway.Deps
		want string
	}{
		{"no connection", nil, gateway.Deps{Tokens: auth.NewTokenCache(exchange)}, "Deps.Conn"},
		{"an empty config", func(c *gateway.Config) { *c = gateway.Config{} }, gateway.Deps{Conn: conn, Tokens: auth.NewTokenCache(exchange)}, "DefaultConfig"},
		{"a host that is a URL", func(c *gateway.Config) { c.AllowedHosts = []string{"https://claw.example/"} }, gateway.Deps{Conn: conn, Tokens: auth.NewTokenCache(exchange)}, "https://claw.example/"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := gateway.DefaultConfig()
			if tc.cfg != nil {
				tc.cfg(&cfg)
			}
			if _, err := gateway.New(t.Context(), cfg, tc.deps); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("New = %v, want %q in it", err, tc.want)
			}
		})
	}
}
