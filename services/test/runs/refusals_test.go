package runs

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// traps is a site that leads astray: to a listener on this machine that nobody
// may reach, and into a body that grows.
type traps struct {
	site, forbidden *httptest.Server
	hits            atomic.Int32 // on the forbidden listener
}

func layTraps(t testing.TB) *traps {
	t.Helper()
	tr := &traps{}
	tr.forbidden = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { tr.hits.Add(1) }))
	t.Cleanup(tr.forbidden.Close)
	bomb := gzipped(bytes.Repeat([]byte("<p>boom</p>\n"), 100<<20/12))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /inside", func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, tr.forbidden.URL+"/secret", http.StatusFound)
	})
	mux.HandleFunc("GET /around", func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, "/inside", http.StatusMovedPermanently)
	})
	mux.HandleFunc("GET /bomb", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		rw.Header().Set("Content-Encoding", "gzip")
		_, _ = rw.Write(bomb)
	})
	tr.site = httptest.NewServer(mux)
	t.Cleanup(tr.site.Close)
	return tr
}

// open lets the world's suite reach the site.
func (tr *traps) open(w *world.World) {
	w.Config.Netguard.Allow = append(w.Config.Netguard.Allow, strings.TrimPrefix(tr.site.URL, "http://"))
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(b)
	_ = z.Close()
	return out.Bytes()
}

func TestBadRequestsAreExplainedAndChangeNothing(t *testing.T) {
	t.Parallel()
	w := world.New(t, storyScript)
	tr := layTraps(t)
	tr.open(w)
	c := world.ClientOf(w.Start(t))
	id := c.Conversation(t)
	first := c.Ask(t, id, "Please look up nanoclaws")
	messages := "/api/conversations/" + id + "/messages"
	long := strings.Repeat("x", 200_001)
	cases := []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		reason, field            string
		words                    string // in the message or a detail
	}{
		{name: "an empty message", path: messages, body: `{"content":""}`, status: 400, reason: "INVALID_ARGUMENT", field: "content"},
		{name: "a message of wide and no-break spaces", path: messages, body: `{"content":"\u3000\u00a0\u2003"}`, status: 400, reason: "INVALID_ARGUMENT", field: "content"},
		{name: "a blank message", path: messages, body: `{"content":" \n\t "}`, status: 400, reason: "INVALID_ARGUMENT", field: "content"},
		{name: "an empty message, not streamed", path: messages, body: `{"content":"","stream":false}`, status: 400, reason: "INVALID_ARGUMENT", field: "content"},
		{name: "no message at all", path: messages, body: `{}`, status: 400, reason: "INVALID_ARGUMENT", field: "content"},
		{name: "no body at all", path: messages, status: 400, reason: "INVALID_ARGUMENT", field: "content"},
		{name: "a message that is too long", path: messages, body: `{"content":"` + long + `"}`, status: 400, reason: "INVALID_ARGUMENT", field: "content"},
		{name: "an empty message for bots", path: "/chat", body: `{"message":" "}`, status: 400, reason: "INVALID_ARGUMENT", field: "message"},
		{name: "an unknown model", path: messages, body: `{"content":"hi","model":"gpt-9"}`, status: 400, reason: "INVALID_ARGUMENT", field: "model", words: "scripted"},
		{name: "a number where text belongs", path: messages, body: `{"content":7}`, status: 400, words: "content"},
		{name: "an unknown conversation", path: "/api/conversations/conv_none/messages", body: `{"content":"hi"}`, status: 404, reason: "NOT_FOUND"},
		{name: "an unknown conversation for bots", path: "/chat", body: `{"message":"hi","conversation_id":"conv_none"}`, status: 404, reason: "NOT_FOUND"},
		{name: "the messages of an unknown conversation", method: "GET", path: "/api/conversations/conv_none/messages", status: 404, reason: "NOT_FOUND"},
		{name: "the end of an unknown conversation", method: "DELETE", path: "/api/conversations/conv_none", status: 404, reason: "NOT_FOUND"},
		{name: "an unknown run", method: "GET", path: "/api/runs/run_none", status: 404, reason: "NOT_FOUND"},
		{name: "the events of an unknown run", method: "GET", path: "/api/runs/run_none/events", status: 404, reason: "NOT_FOUND"},
		{name: "the end of an unknown run", path: "/api/runs/run_none/cancel", body: `{}`, status: 404, reason: "NOT_FOUND"},
		{name: "an unknown message", path: messages + "/msg_none/regenerate", body: `{}`, status: 404, reason: "NOT_FOUND"},
		{name: "an event id that is none", method: "GET", path: "/api/runs/" + first.RunID + "/events", headers: []string{"Last-Event-ID", "soon"}, status: 400, reason: "INVALID_ARGUMENT", field: "Last-Event-ID"},
		{name: "a key that is too long", path: messages, body: `{"content":"hi"}`, headers: []string{"Idempotency-Key", strings.Repeat("k", 201)}, status: 400, reason: "INVALID_ARGUMENT", field: "Idempotency-Key"},
		{name: "a page that is too long", method: "GET", path: messages + "?limit=101", status: 400, reason: "INVALID_ARGUMENT", field: "limit"},
		{name: "a page that is none", method: "GET", path: messages + "?limit=0", status: 400, reason: "INVALID_ARGUMENT", field: "limit"},
		{name: "allowed and blocked domains together", path: "/api/search", body: `{"query":"claws","allowed_domains":["a.com"],"blocked_domains":["b.com"]}`, status: 400, reason: "INVALID_ARGUMENT", words: "blocked_domains"},
		{name: "a query of one letter", path: "/api/search", body: `{"query":"a"}`, status: 400, reason: "INVALID_ARGUMENT", field: "query"},
		{name: "more results than there may be", path: "/api/search", body: `{"query":"claws","max_results":11}`, status: 400, reason: "INVALID_ARGUMENT", field: "max_results"},
		{name: "a private address", path: "/api/fetch", body: `{"url":"` + tr.forbidden.URL + `/secret"}`, status: 400, reason: "PRIVATE_ADDRESS", field: "url"},
		{name: "the metadata service of a cloud", path: "/api/fetch", body: `{"url":"http://169.254.169.254/latest/meta-data/"}`, status: 400, reason: "PRIVATE_ADDRESS", field: "url"},
		{name: "a private address in disguise", path: "/api/fetch", body: `{"url":"http://0x7f000001/"}`, status: 400, field: "url"},
		{name: "a file", path: "/api/fetch", body: `{"url":"file:///etc/passwd"}`, status: 400, reason: "URL_REFUSED", field: "url"},
		{name: "a redirect to a private address", path: "/api/fetch", body: `{"url":"` + tr.site.URL + `/inside"}`, status: 400, reason: "PRIVATE_ADDRESS", field: "url", words: "redirect"},
		{name: "two redirects to a private address", path: "/api/fetch", body: `{"url":"` + tr.site.URL + `/around"}`, status: 400, reason: "PRIVATE_ADDRESS", field: "url", words: "redirect"},
		{name: "an unknown extract type", path: "/api/fetch", body: `{"url":"` + tr.site.URL + `","extract_type":"soup"}`, status: 400, reason: "INVALID_ARGUMENT", field: "extract_type"},
		{name: "JSON that is none", path: messages, body: `{"content": "hi"`, status: 400, reason: "INVALID_JSON", words: "line 1"},
		{name: "JSON with more behind it", path: messages, body: `{"content":"hi"} {}`, status: 400, reason: "INVALID_JSON"},
		{name: "a list where an object belongs", path: messages, body: `[]`, status: 400, reason: "INVALID_JSON"},
		{name: "an unknown field", path: messages, body: `{"content":"hi","contents":"hi"}`, status: 400, reason: "UNKNOWN_FIELD", field: "contents"},
		{name: "plain text", path: messages, body: `{"content":"hi"}`, headers: []string{"Content-Type", "text/plain"}, status: 415, reason: "UNSUPPORTED_MEDIA_TYPE", words: "application/json"},
		{name: "a compressed body", path: messages, body: `{"content":"hi"}`, headers: []string{"Content-Encoding", "gzip"}, status: 415, reason: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "a body over the limit", path: messages, body: `{"content":"` + strings.Repeat("x", 1<<20) + `"}`, status: 413, reason: "BODY_TOO_LARGE"},
		{name: "an unknown tool", path: "/api/tools/teleport/invoke", body: `{"arguments":{}}`, status: 404, reason: "UNKNOWN_TOOL"},
		{name: "wrong arguments of a tool", path: "/api/tools/web_search/invoke", body: `{"arguments":{"query":7}}`, headers: []string{"Idempotency-Key", "wrong"}, status: 400, reason: "BAD_ARGUMENTS", field: "arguments.query", words: "query"},
		{name: "a route that is none", method: "GET", path: "/api/nothing", status: 404},
		{name: "a method that is none", method: "PUT", path: messages, body: `{}`, status: 405},
	}
	before := world.Stored(t, w.Config.DataDir)
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			status, answer, header := raw(t, c, tc.method, tc.path, tc.body, tc.headers...)
			if status != tc.status || tc.reason != "" && answer["reason"] != tc.reason {
				t.Fatalf("%d %v, not %d %s", status, answer, tc.status, tc.reason)
			}
			text, _ := json.Marshal(answer)
			if answer["code"] != float64(status) || answer["message"] == "" || answer["message"] == nil || header.Get("Content-Type") != "application/json" {
				t.Errorf("not an error of ours: %s %s", header.Get("Content-Type"), text)
			}
			if tc.field != "" && !strings.Contains(string(text), `"field":"`+tc.field+`"`) {
				t.Errorf("the field %s is not named: %s", tc.field, text)
			}
			if !strings.Contains(string(text), tc.words) {
				t.Errorf("nothing about %q in %s", tc.words, text)
			}
			if len(text) > 4<<10 {
				t.Errorf("an answer of %d bytes", len(text))
			}
		})
	}
	if diff := cmp.Diff(before, world.Stored(t, w.Config.DataDir)); diff != "" {
		t.Errorf("something was written:\n%s", diff)
	}
	if n := tr.hits.Load(); n != 0 {
		t.Errorf("the forbidden listener was reached %d times", n)
	}
	if again := c.Ask(t, id, "Please look up nanoclaws again"); again.Done["finish_reason"] != "stop" {
		t.Errorf("afterwards: %v %v", again.Done, again.Error)
	}
}

// raw sends a body as it is; a method is POST when it is not named.
func raw(t testing.TB, c *world.Client, method, path, body string, headers ...string) (int, map[string]any, http.Header) {
	t.Helper()
	if method == "" {
		method = "POST"
	}
	var payload io.Reader
	if body != "" {
		payload = strings.NewReader(body)
		headers = append([]string{"Content-Type", "application/json"}, headers...)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, c.Base+path, payload)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := c.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer map[string]any
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatalf("%d, not JSON: %.300s", res.StatusCode, text)
	}
	return res.StatusCode, answer, res.Header
}

func TestAGzipBombIsNotInflated(t *testing.T) {
	t.Parallel()
	w := world.New(t, oneCall("fetch_page", `{url: "{{user}}"}`))
	tr := layTraps(t)
	tr.open(w)
	p := world.Serve(t, world.Program(t, "nanoclaw"), w.ConfigFile(t))
	before := peakMemory(t, p.Pid)
	status, answer, _ := raw(t, p.Client, "POST", "/api/fetch", fmt.Sprintf(`{"url":"%s/bomb"}`, tr.site.URL))
	if status != 400 || answer["reason"] != "TOO_LARGE" {
		t.Errorf("over REST: %d %v", status, answer)
	}
	id := p.Conversation(t)
	run := p.Ask(t, id, tr.site.URL+"/bomb")
	if run.Done["finish_reason"] != "stop" || !strings.Contains(run.Text(2), "TOO_LARGE") {
		t.Errorf("for the model: %v, %q", run.Done, run.Text(2))
	}
	if grown := peakMemory(t, p.Pid) - before; grown > 80<<20 {
		t.Errorf("a body of 100 MiB took %d MiB of memory", grown>>20)
	} else {
		t.Logf("memory grew by %d MiB", grown>>20)
	}
}

func TestTheModelIsToldWhatIsWrongWithItsCalls(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, call, reason string }{
		{"both kinds of domains", `{name: web_search, arguments: {query: claws, allowed_domains: [a.com], blocked_domains: [b.com]}}`, "INVALID_ARGUMENT"},
		{"a query of one letter", `{name: web_search, arguments: {query: a}}`, "BAD_ARGUMENTS"},
		{"a private address", `{name: fetch_page, arguments: {url: "FORBIDDEN/secret"}}`, "PRIVATE_ADDRESS"},
		{"a redirect to a private address", `{name: fetch_page, arguments: {url: "TRAPS/inside"}}`, "PRIVATE_ADDRESS"},
		{"arguments that are not JSON", `{name: fetch_page, arguments: "{url: oops"}`, "BAD_ARGUMENTS"},
		{"an argument that is missing", `{name: fetch_page, arguments: {}}`, "BAD_ARGUMENTS"},
		{"an unknown tool", `{name: teleport, arguments: {to: moon}}`, "UNKNOWN_TOOL"},
		{"a tool that is misspelt", `{name: WebSearch, arguments: {query: claws}}`, "UNKNOWN_TOOL"},
		{"a result that is none", `{name: read_result, arguments: {result_id: call_none}}`, "RESULT_NOT_FOUND"},
	}
	tr := layTraps(t)
	var script strings.Builder
	script.WriteString("turns:\n")
	for _, tc := range cases {
		call := strings.NewReplacer("FORBIDDEN", tr.forbidden.URL, "TRAPS", tr.site.URL).Replace(tc.call)
		fmt.Fprintf(&script, "  - when: {user_contains: \"%s!\"}\n    replies:\n      - steps: [{call: %s}]\n      - steps: [{text: \"I see.\"}]\n", tc.name, call)
	}
	w := world.New(t, script.String())
	tr.open(w)
	c := world.ClientOf(w.Start(t))
	id := c.Conversation(t) // one for all: a bad call spoils no later request
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			run := c.Ask(t, id, tc.name+"!")
			log := checkRun(t, c, id, run.RunID, run)
			if log.Done["finish_reason"] != "stop" || log.Text(2) != "I see." {
				t.Errorf("the run ended with %v %v", log.Done, log.Error)
			}
			failed, _ := log.Result(0)["error"].(map[string]any)
			if len(log.Results) != 1 || log.Results[0]["is_error"] != true || failed["reason"] != tc.reason || failed["message"] == "" || failed["message"] == nil {
				t.Errorf("the model was told %v", log.Results)
			}
		})
	}
	if n := tr.hits.Load(); n != 0 {
		t.Errorf("the forbidden listener was reached %d times", n)
	}
}
