package edge

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"

	optionsv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/options/v1"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

var pathParameter = regexp.MustCompile(`\{([a-z_]+)\}`)

// binding is the HTTP method and path pattern of a rule.
func binding(t testing.TB, rule *annotations.HttpRule) (method, pattern string) {
	t.Helper()
	switch p := rule.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		return http.MethodGet, p.Get
	case *annotations.HttpRule_Post:
		return http.MethodPost, p.Post
	case *annotations.HttpRule_Put:
		return http.MethodPut, p.Put
	case *annotations.HttpRule_Patch:
		return http.MethodPatch, p.Patch
	case *annotations.HttpRule_Delete:
		return http.MethodDelete, p.Delete
	}
	t.Fatalf("a kind of rule that this test does not know: %v", rule)
	return "", ""
}

// httpRequest is a request by its parts.
type httpRequest struct {
	method, path string
	body         map[string]any // nil: none
}

// asHTTP puts the members of a request where a rule wants them: into the path,
// the body or the query.
func asHTTP(t testing.TB, rule *annotations.HttpRule, members map[string]any) httpRequest {
	t.Helper()
	rest := map[string]any{}
	for k, v := range members {
		rest[k] = v
	}
	method, pattern := binding(t, rule)
	r := httpRequest{method: method}
	r.path = pathParameter.ReplaceAllStringFunc(pattern, func(parameter string) string {
		name := strings.Trim(parameter, "{}")
		value, ok := rest[name].(string)
		if !ok {
			t.Fatalf("%s: no %s to put into the path", pattern, name)
		}
		delete(rest, name)
		return url.PathEscape(value)
	})
	switch rule.GetBody() {
	case "*":
		r.body = rest
	case "":
		query := url.Values{}
		for k, v := range rest {
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			query.Set(k, strings.Trim(string(text), `"`))
		}
		if len(query) > 0 {
			r.path += "?" + query.Encode()
		}
	default:
		t.Fatalf("%s: the body is the field %s: teach this test to send it", pattern, rule.GetBody())
	}
	return r
}

// send makes the request and answers the status, the answer's text and its
// envelope, if it is one.
func (r httpRequest) send(t testing.TB, c *world.Client, headers ...string) (status int, text string, envelope map[string]any) {
	t.Helper()
	var body any
	if r.body != nil {
		body = r.body
	}
	res, err := c.Do(deadline(t), r.method, r.path, body, headers...)
	if err != nil {
		t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	_ = json.Unmarshal(raw, &envelope) // streams are none
	return res.StatusCode, string(raw), envelope
}

func (r httpRequest) String() string {
	body, err := json.Marshal(r.body)
	if err != nil {
		return r.method + " " + r.path
	}
	return r.method + " " + r.path + " " + string(body)
}

func TestThingsOfOthersAreNotFoundByAnyRoute(t *testing.T) {
	h := newHouse(t)
	owner := h.suite.Owner().UserID
	claims := []string{
		"Grpc-Metadata-X-Nanoclaw-User", owner, "Grpc-Metadata-X-Nanoclaw-Kind", "user", "Grpc-Metadata-X-Nanoclaw-Scopes", "*",
		"Grpc-Metadata-Authorization", "Bearer " + h.owner.Token, "X-Nanoclaw-User", owner, "X-Nanoclaw-Kind", "service",
		"Grpcgateway-Authorization", "Bearer " + h.owner.Token, "Baggage", "user.id=" + owner,
	}
	for _, m := range methods(t) {
		for _, rule := range m.rules {
			if len(m.ids()) == 0 {
				continue
			}
			for _, name := range sorted(m.strangers(t, h)) {
				verb, pattern := binding(t, rule)
				t.Run(verb+" "+pattern+" with "+name, func(t *testing.T) {
					r := asHTTP(t, rule, m.strangers(t, h)[name])
					before := world.Stored(t, h.Config.DataDir)
					for _, headers := range [][]string{nil, claims} {
						code, text, envelope := r.send(t, h.guest.Client, headers...)
						if code != http.StatusNotFound || envelope["reason"] != "NOT_FOUND" {
							t.Errorf("answer = %d %s, want 404 NOT_FOUND", code, text)
						}
						requireHidden(t, &h.owner, r.String(), text)
					}
					requireSame(t, before, world.Stored(t, h.Config.DataDir))
				})
			}
		}
	}
}

func TestThingsOfOthersAreShownByNoRoute(t *testing.T) {
	h := newHouse(t)
	for _, m := range methods(t) {
		for _, rule := range m.rules {
			if len(m.ids()) > 0 || m.caller != optionsv1.Caller_CALLER_USER {
				continue
			}
			verb, pattern := binding(t, rule)
			t.Run(verb+" "+pattern, func(t *testing.T) {
				r := asHTTP(t, rule, m.fill(t, h, func(string) *person { return &h.owner }))
				code, text, _ := r.send(t, h.guest.Client)
				if code != http.StatusOK {
					t.Errorf("answer = %d %s", code, text)
				}
				requireHidden(t, &h.owner, r.String(), text)
			})
		}
	}
}

// What one reads does not depend on what others do: no sum, count or list of
// one's own takes them in.
func TestWhatOthersDoChangesNothingThatOneReads(t *testing.T) {
	h := newHouse(t)
	read := func() map[string]string {
		answers := map[string]string{}
		for _, m := range methods(t) {
			for _, rule := range m.rules {
				if verb, pattern := binding(t, rule); verb == http.MethodGet && !m.streams {
					r := asHTTP(t, rule, m.fill(t, h, func(string) *person { return &h.guest }))
					code, text, _ := r.send(t, h.guest.Client)
					if code != http.StatusOK {
						t.Errorf("%s answers %d %s", r, code, text)
					}
					answers[pattern] = text
				}
			}
		}
		return answers
	}
	before := read()
	furnish(t, h.owner.Client, "cormorant")
	after := read()
	if len(before) < 8 {
		t.Errorf("only %d routes were read", len(before))
	}
	for _, pattern := range sorted(before) {
		if before[pattern] != after[pattern] {
			t.Errorf("GET %s changed from %s to %s", pattern, before[pattern], after[pattern])
		}
	}
}

func TestResultsOfOthersCannotBeReadWithTheTool(t *testing.T) {
	h := newHouse(t)
	read := func(c *world.Client, id string) string {
		result := c.Data(t, "POST", "/api/tools/read_result/invoke", map[string]any{"arguments": map[string]any{"result_id": id}})
		return result["content"].(string)
	}
	foreign, missing := read(h.guest.Client, h.owner.ids["result_id"]), read(h.guest.Client, "call_of_nobody")
	if !strings.Contains(foreign, "RESULT_NOT_FOUND") || strings.Contains(foreign, world.Article) {
		t.Errorf("a result of somebody else: %s", foreign)
	}
	if strings.ReplaceAll(foreign, h.owner.ids["result_id"], "x") != strings.ReplaceAll(missing, "call_of_nobody", "x") {
		t.Errorf("one can tell whether a result exists: %s and %s", foreign, missing)
	}
	if own := read(h.guest.Client, h.guest.ids["result_id"]); !strings.Contains(own, world.Article) {
		t.Errorf("a result of one's own: %s", own)
	}
}

func TestAnIdempotencyKeyIsItsUsersOwn(t *testing.T) {
	h := newHouse(t)
	ask := func(c *world.Client) string {
		code, text, answer := httpRequest{"POST", "/chat", map[string]any{"message": "Hello"}}.send(t, c, "Idempotency-Key", "the-same")
		id, ok := answer["conversation_id"].(string)
		if code != http.StatusOK || !ok {
			t.Fatalf("answer = %d %s", code, text)
		}
		return id
	}
	owners := ask(h.owner.Client)
	if guests := ask(h.guest.Client); guests == owners {
		t.Error("a key led into the conversation of somebody else")
	}
	if again := ask(h.owner.Client); again != owners {
		t.Errorf("the same key led to %s, before to %s", again, owners)
	}
}
