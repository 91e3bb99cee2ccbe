package gateway_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/gateway"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

func TestGoodAnswersAreEnveloped(t *testing.T) {
	b := &backend{
		create: func(_ context.Context, r *orchestratorv1.CreateConversationRequest) (*orchestratorv1.Conversation, error) {
			return &orchestratorv1.Conversation{Id: "c1", Title: r.GetTitle()}, nil
		},
		send: func(_ context.Context, r *orchestratorv1.SendMessageRequest) (*orchestratorv1.Message, error) {
			if r.GetContent() == "wait" {
				return &orchestratorv1.Message{RunId: "r1", Status: "waiting", WaitingFor: []string{"approval"}}, nil
			}
			return &orchestratorv1.Message{Id: "m1", Content: "a < b", Status: "completed"}, nil
		},
	}
	f := newFixture(t, b)
	for _, tc := range []struct {
		name, method, path, body string
		status                   int
		want                     []string
	}{
		{"the field of response_body is the data", "POST", "/api/conversations", `{"title":"T"}`, 200,
			[]string{`{"code":0,"data":{"id":"c1","title":"T","model":"","system_prompt":"","message_count":0}}`}},
		{"an empty list is a list, not null", "GET", "/api/conversations", "", 200,
			[]string{`{"code":0,"data":{"items":[],"next_cursor":"","has_more":false}}`}},
		{"query parameters are read by their snake_case names", "GET", "/api/conversations?limit=5&cursor=x", "", 200,
			[]string{`"next_cursor":"x","has_more":true`}},
		{"a deletion answers empty data", "DELETE", "/api/conversations/c1", "", 200, []string{`{"code":0,"data":{}}`}},
		{"a cancel needs no body", "POST", "/api/runs/r9/cancel", "", 200, []string{`"id":"r9"`, `"status":"cancelled"`}},
		{"a message that is not streamed is answered whole", "POST", "/api/conversations/c1/messages", `{"content":"hi","stream":false}`, 200,
			[]string{`"id":"m1"`, `"content":"a \u003c b"`, `"steps":[]`}},
		{"a run that waits is 202", "POST", "/api/conversations/c1/messages", `{"content":"wait","stream":false}`, 202,
			[]string{`"code":0`, `"run_id":"r1"`, `"status":"waiting"`, `"waiting_for":["approval"]`}},
		{"chat has no envelope", "POST", "/chat", `{"message":"hi"}`, 200, []string{`{"reply":"<hi>","conversation_id":"c1"}`}},
		{"chat ignores unknown fields", "POST", "/chat", `{"message":"hi","user":"x"}`, 200, []string{`"reply":"<hi>"`}},
		{"a charset parameter is fine", "POST", "/api/search", `{"query":"go"}`, 200, []string{`"code":0`, `"results":[]`}},
		{"health", "GET", "/healthz", "", 200, []string{`{"code":0,"data":{"status":"ok"}}`}},
		{"readiness", "GET", "/readyz", "", 200, []string{`{"code":0,"data":{"status":"ready"}}`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := f.request(t, tc.method, tc.path, tc.body)
			if strings.Contains(tc.name, "charset") {
				r.Header.Set("Content-Type", `application/json; charset="UTF-8"`)
			}
			got := do(t, r)
			if got.StatusCode != tc.status || got.Header.Get("Content-Type") != "application/json" {
				t.Fatalf("answer = %d %s %s", got.StatusCode, got.Header.Get("Content-Type"), got.body)
			}
			body := got.body
			if tc.path == "/chat" { // protojson puts spaces in at random
				body = strings.ReplaceAll(strings.ReplaceAll(body, ", ", ","), ": ", ":")
			}
			for _, want := range tc.want {
				if !strings.Contains(body, want) {
					t.Errorf("answer = %s, want %s in it", body, want)
				}
			}
		})
	}
}

func TestFailuresAreEnveloped(t *testing.T) {
	for _, tc := range []struct {
		name       string
		err        error
		status     int
		reason     string
		want       []string
		retryAfter string
	}{
		{"a bad field is named", rpcerr.InvalidArgument("title", "is too long"), 400, "INVALID_ARGUMENT",
			[]string{`"details":[{"field":"title","description":"is too long"}]`, `"message":"title: is too long"`}, ""},
		{"not found", rpcerr.NotFound("conversation", "c<9>"), 404, "NOT_FOUND", []string{`c<9>`}, ""},
		{"a live run is 409 with its id", rpcerr.New(codes.FailedPrecondition, "RUN_IN_PROGRESS", "a run lives").WithMeta("run_id", "r7"), 409, "RUN_IN_PROGRESS",
			[]string{`"run_id":"r7"`}, ""},
		{"an aborted call is 409", rpcerr.New(codes.Aborted, "KEY_REUSED", "another body"), 409, "KEY_REUSED", nil, ""},
		{"an approval is 409 with the hash", rpcerr.New(codes.FailedPrecondition, "APPROVAL_REQUIRED", "ask").WithMeta("args_sha256", "ab12"), 409, "APPROVAL_REQUIRED",
			[]string{`"args_sha256":"ab12"`}, ""},
		{"what exists is 409", rpcerr.New(codes.AlreadyExists, "EXISTS", "x"), 409, "EXISTS", nil, ""},
		{"a fact cannot take the place of a member", rpcerr.New(codes.Aborted, "ODD", "words").WithMeta("code", "0").WithMeta("message", "evil"), 409, "ODD",
			[]string{`"message":"words"`}, ""},
		{"too many is 429 with Retry-After rounded up", rpcerr.New(codes.ResourceExhausted, "RATE_LIMITED", "slow down").WithRetry(1200 * time.Millisecond), 429, "RATE_LIMITED", nil, "2"},
		{"unavailable is 503 with Retry-After", rpcerr.New(codes.Unavailable, "SANDBOX_BUSY", "full").WithRetry(0), 503, "SANDBOX_BUSY", nil, "1"},
		{"a missing scope is 403", rpcerr.New(codes.PermissionDenied, "SCOPE_MISSING", "needs chat"), 403, "SCOPE_MISSING", nil, ""},
		{"a feature that is not there is 501", status.Error(codes.Unimplemented, "unknown method"), 501, "UNIMPLEMENTED", nil, ""},
		{"a deadline is 504", rpcerr.New(codes.DeadlineExceeded, "DEADLINE_EXCEEDED", "late"), 504, "DEADLINE_EXCEEDED", nil, ""},
		{"text that nobody shaped is not shown", errors.New("dial tcp 10.0.0.7:5432: password=hunter2"), 500, "INTERNAL", nil, ""},
		{"nor that of the transport", status.Error(codes.Unavailable, "dial tcp 10.0.0.7: hunter2"), 503, "UNAVAILABLE", nil, "1"},
		{"the gateway's own identity refused is no fault of the caller", rpcerr.New(codes.Unauthenticated, auth.ReasonIdentityInvalid, "hunter2"), 503, auth.ReasonIdentityInvalid,
			[]string{"do not accept each other"}, ""},
		{"nor are clocks that differ", rpcerr.New(codes.Unauthenticated, auth.ReasonIdentityExpired, "hunter2"), 503, auth.ReasonIdentityExpired, nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFixture(t, &backend{create: func(context.Context, *orchestratorv1.CreateConversationRequest) (*orchestratorv1.Conversation, error) {
				return nil, tc.err
			}})
			got := do(t, f.request(t, "POST", "/api/conversations", `{}`))
			mustFail(t, got, tc.status, tc.reason)
			for _, want := range tc.want {
				if !strings.Contains(got.body, want) {
					t.Errorf("answer = %s, want %s in it", got.body, want)
				}
			}
			if strings.Contains(got.body, "hunter2") || strings.Contains(got.body, "10.0.0.7") {
				t.Errorf("answer gives inner text away: %s", got.body)
			}
			if got.Header.Get("Retry-After") != tc.retryAfter {
				t.Errorf("Retry-After = %q, want %q", got.Header.Get("Retry-After"), tc.retryAfter)
			}
		})
	}
}

func TestBadRequestsNeverReachAService(t *testing.T) {
	f := newFixture(t, nil)
	big := `{"title":"` + strings.Repeat("x", 1<<20) + `"}`
	for _, tc := range []struct {
		name, method, path, body string
		header                   [2]string
		status                   int
		reason, inMessage, field string
	}{
		{name: "an unknown field is named", method: "POST", path: "/api/conversations", body: `{"titel":"x"}`, status: 400, reason: "UNKNOWN_FIELD", inMessage: `"titel"`, field: "titel"},
		{name: "also in a streamed call", method: "POST", path: "/api/conversations/c/messages", body: `{"content":"x","sream":true}`, status: 400, reason: "UNKNOWN_FIELD", field: "sream"},
		{name: "broken JSON is placed", method: "POST", path: "/api/search", body: "{\n \"query\": go}", status: 400, reason: "INVALID_JSON", inMessage: "line 2, column 11"},
		{name: "a second document is refused", method: "POST", path: "/api/search", body: `{} {}`, status: 400, reason: "INVALID_JSON", inMessage: "line 1, column 4"},
		{name: "a list is no request", method: "POST", path: "/api/search", body: `[]`, status: 400, reason: "INVALID_JSON", inMessage: "object"},
		{name: "bytes that are not UTF-8", method: "POST", path: "/api/search", body: "{\"query\":\"\xff\"}", status: 400, reason: "INVALID_JSON", inMessage: "UTF-8"},
		{name: "a body nested too deeply is placed", method: "POST", path: "/api/tools/x/invoke", body: "{\"arguments\":\n" + strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5001), status: 400, reason: "TOO_DEEP", inMessage: "100 levels at line 2, column 496"},
		{name: "so is one that is nothing else", method: "POST", path: "/api/tools/x/invoke", body: strings.Repeat("[", 50000), status: 400, reason: "TOO_DEEP", inMessage: "line 1, column 101"},
		{name: "an id in the path that is not UTF-8", method: "GET", path: "/api/runs/a%ffb", status: 400, reason: "INVALID_ARGUMENT", field: "run_id"},
		{name: "also in a streamed call", method: "POST", path: "/api/conversations/%e7%ba/messages", body: `{"content":"x"}`, status: 400, reason: "INVALID_ARGUMENT", field: "conversation_id"},
		{name: "a query parameter that is not UTF-8", method: "GET", path: "/api/conversations?cursor=a%ffb", status: 400, reason: "INVALID_ARGUMENT", field: "cursor"},
		{name: "also by its name", method: "GET", path: "/api/conversations?cur%ffsor=a", status: 400, reason: "INVALID_ARGUMENT", field: "cur\uFFFDsor"},
		{name: "half a surrogate pair", method: "POST", path: "/api/conversations", body: `{"title":"a\ud800b"}`, status: 400, reason: "INVALID_ARGUMENT"},
		{name: "a wrong type names the field as it is sent", method: "POST", path: "/api/search", body: `{"max_results":"many"}`, status: 400, reason: "INVALID_ARGUMENT", inMessage: "line 1, column", field: "max_results"},
		{name: "a wrong type of stream", method: "POST", path: "/api/conversations/c/messages", body: `{"stream":"no"}`, status: 400, reason: "INVALID_ARGUMENT", field: "stream"},
		{name: "a wrong query parameter", method: "GET", path: "/api/conversations?limit=many", status: 400, reason: "INVALID_ARGUMENT", inMessage: "limit: must be a whole number", field: "limit"},
		{name: "one that is too large", method: "GET", path: "/api/conversations?limit=99999999999", status: 400, reason: "INVALID_ARGUMENT", inMessage: "limit: must be a whole number", field: "limit"},
		{name: "one that is sent twice", method: "GET", path: "/api/conversations?limit=1&limit=2", status: 400, reason: "INVALID_ARGUMENT", inMessage: "more than once", field: "limit"},
		{name: "the same under its two names", method: "GET", path: "/api/runs/r/events?after_seq=1&afterSeq=2", status: 400, reason: "INVALID_ARGUMENT", inMessage: "more than once", field: "after_seq"},
		{name: "a parameter that is no path of fields", method: "GET", path: "/api/conversations?limit.x=1", status: 400, reason: "INVALID_ARGUMENT", inMessage: "/docs"},
		{name: "an unknown query parameter is named", method: "GET", path: "/api/conversations?nonsense=1", status: 400, reason: "INVALID_ARGUMENT", inMessage: "nonsense: is no query parameter", field: "nonsense"},
		{name: "one beside those that there are", method: "GET", path: "/api/conversations?limit=1&lmit=2", status: 400, reason: "INVALID_ARGUMENT", field: "lmit"},
		{name: "one of a stream", method: "GET", path: "/api/runs/r/events?after=1", status: 400, reason: "INVALID_ARGUMENT", field: "after"},
		{name: "one of a streamed call", method: "POST", path: "/api/conversations/c/messages?stream=false", body: `{"content":"x"}`, status: 400, reason: "INVALID_ARGUMENT", field: "stream"},
		{name: "one that is a field of the body", method: "POST", path: "/api/search?query=go", body: `{"query":"go"}`, status: 400, reason: "INVALID_ARGUMENT", field: "query"},
		{name: "one that is a part of the path", method: "GET", path: "/api/runs/r?run_id=s", status: 400, reason: "INVALID_ARGUMENT", field: "run_id"},
		{name: "one of an upload", method: "POST", path: "/api/workspaces/w/files?path=a", status: 400, reason: "INVALID_ARGUMENT", field: "path"},
		{name: "a field sent twice", method: "POST", path: "/api/conversations", body: `{"title":"a","title":"b"}`, status: 400, reason: "INVALID_ARGUMENT", inMessage: "line 1, column 14", field: "title"},
		{name: "a body that contradicts the path", method: "PATCH", path: "/api/conversations/c1", body: `{"conversation_id":"c2","title":"x"}`, status: 400, reason: "INVALID_ARGUMENT", inMessage: `"c2" in the body`, field: "conversation_id"},
		{name: "also in a streamed call, under its other name", method: "POST", path: "/api/conversations/c1/messages", body: `{"content":"x","conversationId":"c2"}`, status: 400, reason: "INVALID_ARGUMENT", field: "conversation_id"},
		{name: "a body over the limit", method: "POST", path: "/api/conversations", body: big, status: 413, reason: "BODY_TOO_LARGE", inMessage: "1048576"},
		{name: "a compressed body", method: "POST", path: "/api/search", body: `{}`, header: [2]string{"Content-Encoding", "gzip"}, status: 415, reason: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "a form", method: "POST", path: "/api/search", body: `query=go`, header: [2]string{"Content-Type", "application/x-www-form-urlencoded"}, status: 415, reason: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "a method override is not obeyed", method: "POST", path: "/api/conversations/c1", body: `{}`, header: [2]string{"X-HTTP-Method-Override", "DELETE"}, status: 405, reason: "METHOD_NOT_ALLOWED"},
		{name: "an unknown route", method: "GET", path: "/api/nothing", status: 404, reason: "NOT_FOUND", inMessage: "/api/nothing"},
		{name: "a wrong method", method: "PUT", path: "/api/conversations/c1", body: `{}`, status: 405, reason: "METHOD_NOT_ALLOWED", inMessage: "DELETE, GET, PATCH"},
		{name: "interfaces to come", method: "POST", path: "/v1/chat/completions", body: `{}`, status: 404, reason: "NOT_FOUND"},
		{name: "a POST to the app", method: "POST", path: "/", body: `{}`, status: 405, reason: "METHOD_NOT_ALLOWED"},
		{name: "an idempotency key that metadata cannot carry", method: "POST", path: "/api/search", body: `{}`, header: [2]string{"Idempotency-Key", "ключ"}, status: 400, reason: "INVALID_ARGUMENT", field: "Idempotency-Key"},
		{name: "a last event id that is none", method: "GET", path: "/api/runs/r/events", header: [2]string{"Last-Event-ID", "abc"}, status: 400, reason: "INVALID_ARGUMENT", field: "Last-Event-ID"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := f.request(t, tc.method, tc.path, tc.body)
			if tc.header[0] != "" {
				r.Header.Set(tc.header[0], tc.header[1])
			}
			got := mustFail(t, do(t, r), tc.status, tc.reason)
			if !strings.Contains(got.Message, tc.inMessage) {
				t.Errorf("message = %q, want %q in it", got.Message, tc.inMessage)
			}
			if tc.field != "" && (len(*got.Details) != 1 || (*got.Details)[0].Field != tc.field) {
				t.Errorf("details = %+v, want the field %s", *got.Details, tc.field)
			}
		})
	}
	if n := f.callCount(); n != 0 {
		t.Errorf("%d calls reached the services", n)
	}
}

func TestA405SaysWhatIsAllowed(t *testing.T) {
	f := newFixture(t, nil)
	got := do(t, f.request(t, "PUT", "/api/conversations/c1", `{}`))
	if allow := got.Header.Get("Allow"); allow != "DELETE, GET, PATCH" {
		t.Errorf("Allow = %q", allow)
	}
}

func TestAPanicIsAnsweredAndLogged(t *testing.T) {
	f := newFixture(t, nil, func(_ *gateway.Config, d *gateway.Deps) {
		d.Tokens = auth.NewTokenCache(func(context.Context, string) (auth.Principal, error) { panic("boom hunter2") })
	})
	got := do(t, f.request(t, "GET", "/api/models", ""))
	mustFail(t, got, 500, "INTERNAL")
	if strings.Contains(got.body, "hunter2") {
		t.Errorf("the answer gives the panic away: %s", got.body)
	}
}
