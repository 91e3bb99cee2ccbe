package edge

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/status"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// modelKey looks like no provider's keys, so that only knowing it helps to
// keep it out.
const modelKey = "Pq7_mnstr.Wq55-Xd81hT"

// leaks are ways in which a model endpoint can say the key that it was given.
var leaks = []struct {
	name  string
	write func(http.ResponseWriter, *http.Request)
}{
	{"an error of OpenAI's shape", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s","type":"%s","code":"invalid_api_key","param":%[2]q}}`,
			r.Header.Get("Authorization"), modelKey)
	}},
	{"plain text", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, "bad header Authorization: %s (key %s)", r.Header.Get("Authorization"), modelKey)
	}},
	{"a page", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprintf(w, "<html><title>404 for %s</title><h1>%s</h1></html>", modelKey, r.Header.Get("Authorization"))
	}},
	{"a request id", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Request-Id", modelKey)
		w.WriteHeader(http.StatusForbidden)
	}},
	{"an error in the middle of a stream", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Well"}}]}`+"\n\n")
		_, _ = fmt.Fprintf(w, `data: {"error":{"message":"quota of %s","code":"insufficient_quota"}}`+"\n\n", r.Header.Get("Authorization"))
	}},
	{"a stream that is none", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: {\"key\": %s\n\n", r.Header.Get("Authorization"))
	}},
	{"a redirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere?key="+modelKey, http.StatusTemporaryRedirect)
	}},
	{"an answer whose request id it is", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("X-Request-Id", modelKey)
		_, _ = fmt.Fprint(w, `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Well."},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}},
}

func TestSecretsAreShownNowhere(t *testing.T) {
	w := world.New(t, answering)
	asked := make([]atomic.Int32, len(leaks))
	model := w.Config.Models[0]
	for i, l := range leaks { // each at an endpoint of its own: an account that is refused is left alone
		endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked[i].Add(1); r.Header.Get("Authorization") != "Bearer "+modelKey {
				t.Errorf("the endpoint was given %q", r.Header.Get("Authorization"))
			}
			l.write(w, r)
		}))
		t.Cleanup(endpoint.Close)
		model.ID, model.APIURL, model.APIKey = fmt.Sprint("leaking-", i), endpoint.URL+"/v1", config.Secret(modelKey)
		w.Config.Models = append(w.Config.Models, model)
	}
	var log logbook
	var keeper spanKeeper
	s := w.Start(t, log.keep, func(o *suite.Options) { keeper = keepSpans(o) })
	c := world.ClientOf(s)
	t.Cleanup(c.HTTP.CloseIdleConnections)
	conn := dial(t, s.GRPCAddr())
	conversations := orchestratorv1.NewConversationServiceClient(conn)

	var said strings.Builder // everything that callers were told
	link := route{method: "GET", path: strings.TrimPrefix(s.URL(), c.Base)}.ask(t, c, nil)
	fmt.Fprintln(&said, link.text, link.Header.Get("Location"))
	for i, l := range leaks {
		t.Run(l.name, func(t *testing.T) {
			conversation := func() string {
				return c.Data(t, "POST", "/api/conversations", map[string]any{"model": fmt.Sprint("leaking-", i)})["id"].(string)
			}
			id := conversation()
			answer := askOverSSE(t, c, id, "Hello")
			fmt.Fprintln(&said, answer.events)
			if len(answer.events) == 0 || asked[i].Load() == 0 {
				t.Fatalf("the endpoint was asked %d times: %v", asked[i].Load(), answer.events)
			}
			for _, path := range []string{"/api/conversations/" + id, "/api/conversations/" + id + "/messages", "/api/runs/" + answer.last("run_started")["run_id"].(string)} {
				_, text, _ := httpRequest{method: "GET", path: path}.send(t, c)
				fmt.Fprintln(&said, text)
			}
			_, text, _ := httpRequest{"POST", "/chat", map[string]any{"message": "Hello", "conversation_id": conversation()}}.send(t, c)
			fmt.Fprintln(&said, text)
			got, err := conversations.SendMessage(as(deadline(t), c.Token), &orchestratorv1.SendMessageRequest{ConversationId: conversation(), Content: "Hello"})
			fmt.Fprintln(&said, got, err, status.Convert(err).Details())
		})
	}
	for _, path := range []string{"/api/models", "/api/tokens", "/api/tools", "/api/usage", "/openapi.yaml", "/docs", "/"} {
		_, text, _ := httpRequest{method: "GET", path: path}.send(t, c)
		fmt.Fprintln(&said, text)
	}
	metrics := route{method: "GET", path: "/metrics"}.ask(t, adminOf(s.AdminAddr(), c), nil)
	stop(t, s)

	for name, secret := range map[string]string{"the model's key": modelKey, "the local token": c.Token} {
		for where, text := range map[string]string{
			"the log": log.String(), "an answer": said.String(), "a span": keeper.text(t), "a metric": metrics.text,
			"an error of the configuration": fmt.Sprintf("%v %+v %#v", w.Config, w.Config, w.Config),
		} {
			if text == "" {
				t.Errorf("%s is empty: nothing was looked at", where)
			}
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf("%s is in %s: ...%s...", name, where, text[max(0, i-200):min(len(text), i+len(secret)+50)])
			}
		}
		for _, file := range filesWith(t, w.Config.DataDir, secret) {
			if name != "the local token" || file != "local.token" {
				t.Errorf("%s is in the file %s", name, file)
			}
		}
	}
	requirePrivate(t, filepath.Join(w.Config.DataDir, "local.token"))
	requirePrivate(t, filepath.Join(w.Config.DataDir, "orchestrator.db"))
}

// filesWith lists the files of a folder that hold the text.
func filesWith(t *testing.T, dir, text string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err == nil && bytes.Contains(raw, []byte(text)) {
			name, _ := filepath.Rel(dir, path) // below dir: has a relative path
			found = append(found, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// requirePrivate checks that only its owner can read a file.
func requirePrivate(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%s can be read by others: %s", filepath.Base(path), info.Mode())
	}
}
