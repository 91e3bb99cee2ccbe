package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/registry"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/tooltest"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type stream = grpc.ServerStreamingServer[toolv1.CallToolResponse]

// aCall is a call of the tool "work" of the provider "far".
func aCall(c toolv1.ToolProviderServiceClient, effect string, timeout time.Duration) Call {
	return Call{
		ID: "call_1", Canonical: []byte(`{"text":"tea"}`), EffectKey: "key-1", Attempt: 1,
		Tool: &registry.Tool{Name: "far__work", RemoteName: "work", Effect: effect, Timeout: timeout, Provider: &registry.Provider{Name: "far", Client: c}},
	}
}

// failureOf reads what the model is told of a failure.
func failureOf(t *testing.T, out Outcome) (reason, message string, retryable bool) {
	t.Helper()
	var told struct {
		Success *bool
		Error   struct {
			Reason, Message string
			Retryable       bool
		}
	}
	if err := json.Unmarshal([]byte(out.Content), &told); err != nil || told.Success == nil || *told.Success || !out.IsError {
		t.Fatalf("not a failure: %+v (%v)", out, err)
	}
	return told.Error.Reason, told.Error.Message, told.Error.Retryable
}

func answer(content string) *toolv1.CallToolResponse {
	return &toolv1.CallToolResponse{Event: &toolv1.CallToolResponse_Result{Result: &toolv1.Result{
		ContentJson: content, Origins: []string{"far:x"}, CostUsd: 0.25,
	}}}
}

func TestACallGoesThroughWholeAndShowsItsProgress(t *testing.T) {
	var seen metadata.MD
	c := tooltest.Serve(t, &tooltest.Raw{Call: func(req *toolv1.CallToolRequest, s stream) error {
		seen, _ = metadata.FromIncomingContext(s.Context())
		if req.Name != "work" || req.ArgumentsJson != `{"text":"tea"}` || req.EffectKey != "key-1" {
			return status.Errorf(codes.InvalidArgument, "asked %v", req)
		}
		_ = s.Send(&toolv1.CallToolResponse{Event: &toolv1.CallToolResponse_Progress{Progress: &toolv1.Progress{Message: "half", Done: 1, Total: 2}}})
		return s.Send(answer(`{"success":true}`))
	}})
	call := aCall(c, "opaque", time.Minute)
	call.NotAfter = time.UnixMilli(1_900_000_000_000)
	var progress []string
	out := Do(t.Context(), call, func(p *toolv1.Progress) { progress = append(progress, p.Message) })
	if out.Content != `{"success":true}` || out.IsError || out.CostUSD != 0.25 || len(out.Origins) != 1 || out.Took <= 0 {
		t.Errorf("%+v", out)
	}
	if len(progress) != 1 || progress[0] != "half" {
		t.Errorf("progress %q", progress)
	}
	if got := seen.Get("x-not-after"); len(got) != 1 || got[0] != "1900000000000" {
		t.Errorf("x-not-after %q", got)
	}
}

func TestACallOfALeaseThatIsOverIsRefused(t *testing.T) {
	p := tooltest.Provider(t)
	tooltest.Add(t, p, tooltest.Tool("work"), tooltest.Echo)
	call := aCall(tooltest.Serve(t, p), "pure", time.Minute)
	call.NotAfter = time.Now().Add(-time.Second)
	if reason, _, _ := failureOf(t, Do(t.Context(), call, nil)); reason != "LEASE_EXPIRED" {
		t.Errorf("reason %s", reason)
	}
}

func TestWhatAProviderCanDoWrong(t *testing.T) {
	oneMB := strings.Repeat("x", 1<<20)
	cases := []struct {
		name    string
		do      func(req *toolv1.CallToolRequest, s stream) error
		timeout time.Duration
		// what becomes of it when the tool is pure; of any other effect the
		// outcome is unknown
		reason    string
		retryable bool
		words     string
	}{
		{"it hangs", func(_ *toolv1.CallToolRequest, s stream) error {
			<-s.Context().Done()
			return status.FromContextError(s.Context().Err()).Err()
		}, 50 * time.Millisecond, "TIMEOUT", true, "within 50ms"},
		{"it ends without a result", func(*toolv1.CallToolRequest, stream) error { return nil }, 0, "BAD_RESULT", true, "without a result"},
		{"it answers no JSON", func(_ *toolv1.CallToolRequest, s stream) error { return s.Send(answer("<html>")) }, 0, "BAD_RESULT", true, "not JSON"},
		{"it answers nothing", func(_ *toolv1.CallToolRequest, s stream) error { return s.Send(answer("")) }, 0, "BAD_RESULT", true, "not JSON"},
		{"it sends 100 MB", func(_ *toolv1.CallToolRequest, s stream) error {
			for range 100 {
				if err := s.Send(&toolv1.CallToolResponse{Event: &toolv1.CallToolResponse_Content{Content: &toolv1.Content{Data: oneMB}}}); err != nil {
					return err
				}
			}
			return s.Send(answer(""))
		}, 0, "RESULT_TOO_LARGE", false, "16 MiB"},
		{"it sends 100 MB at once", func(_ *toolv1.CallToolRequest, s stream) error { return s.Send(answer(strings.Repeat("x", 20<<20))) }, 0, "RESULT_TOO_LARGE", false, "16 MiB"},
		{"it breaks off", func(_ *toolv1.CallToolRequest, s stream) error {
			_ = s.Send(&toolv1.CallToolResponse{Event: &toolv1.CallToolResponse_Content{Content: &toolv1.Content{Data: `{"a":`}}})
			return status.Error(codes.Unavailable, "gone")
		}, 0, "PROVIDER_UNAVAILABLE", true, "broke off"},
		{"it fails inside", func(*toolv1.CallToolRequest, stream) error {
			return status.Error(codes.Internal, "panic: password=hunter2")
		}, 0, "PROVIDER_FAILED", true, "failed"},
		{"it fails without a status", func(*toolv1.CallToolRequest, stream) error { return errors.New("oops") }, 0, "PROVIDER_FAILED", true, "failed"},
		{"it cancels", func(*toolv1.CallToolRequest, stream) error { return status.Error(codes.Canceled, "no") }, 0, "PROVIDER_FAILED", true, "failed"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			client := tooltest.Serve(t, &tooltest.Raw{Call: c.do})
			timeout := c.timeout
			if timeout == 0 {
				timeout = time.Minute
			}
			for _, effect := range []string{"pure", "opaque"} {
				out := Do(t.Context(), aCall(client, effect, timeout), nil)
				reason, message, retryable := failureOf(t, out)
				wantReason, wantRetryable := c.reason, c.retryable
				if effect != "pure" {
					wantReason, wantRetryable = "OUTCOME_UNKNOWN", false
				}
				if reason != wantReason || retryable != wantRetryable || out.Reason != reason || out.Unknown != (effect != "pure") || out.Cancelled {
					t.Errorf("%s: %s (retryable %t, unknown %t): %s", effect, reason, retryable, out.Unknown, message)
				}
				if !strings.Contains(message, c.words) || strings.Contains(message, "hunter2") {
					t.Errorf("%s: words %q", effect, message)
				}
			}
		})
	}
}

func TestARefusalSaysThatNothingWasDone(t *testing.T) {
	cases := []struct {
		err       error
		reason    string
		retryable bool
		words     string
	}{
		{status.Error(codes.InvalidArgument, "text is empty"), "INVALID_ARGUMENT", false, "far__work was refused: text is empty"},
		{status.Error(codes.NotFound, ""), "NOT_FOUND", false, "does not say why"},
		{status.Error(codes.AlreadyExists, "there"), "ALREADY_EXISTS", false, "there"},
		{status.Error(codes.PermissionDenied, "no"), "PERMISSION_DENIED", false, "no"},
		{status.Error(codes.Unauthenticated, "who"), "UNAUTHENTICATED", false, "who"},
		{status.Error(codes.FailedPrecondition, "off"), "FAILED_PRECONDITION", false, "off"},
		{status.Error(codes.OutOfRange, "far"), "OUT_OF_RANGE", false, "far"},
		{status.Error(codes.Unimplemented, "later"), "UNIMPLEMENTED", false, "later"},
		{status.Error(codes.Aborted, "other"), "ABORTED", false, "other"},
		{toolkit.StatusError(codes.Aborted, toolkit.ReasonKeyReused, "other arguments"), "KEY_REUSED", false, "other arguments"},
		{rpcerr.New(codes.FailedPrecondition, "SANDBOX_OFF", "no sandbox").GRPCStatus().Err(), "SANDBOX_OFF", false, "no sandbox"},
		{status.Error(codes.ResourceExhausted, "too fast"), "RESOURCE_EXHAUSTED", true, "too fast"},
		{rpcerr.New(codes.ResourceExhausted, "RATE_LIMITED", "10 a minute.").WithRetry(7 * time.Second).GRPCStatus().Err(), "RATE_LIMITED", true, "10 a minute. Try again in 7s."},
		{toolkit.StatusError(codes.PermissionDenied, "<script>"+strings.Repeat("x", 500), "no"), "PERMISSION_DENIED", false, "no"},
	}
	for _, c := range cases {
		for _, effect := range []string{"pure", "keyed", "opaque"} {
			t.Run(fmt.Sprintf("%s %s", effect, c.reason), func(t *testing.T) {
				client := tooltest.Serve(t, &tooltest.Raw{Call: func(*toolv1.CallToolRequest, stream) error { return c.err }})
				out := Do(t.Context(), aCall(client, effect, time.Minute), nil)
				reason, message, retryable := failureOf(t, out)
				if reason != c.reason || retryable != c.retryable || out.Unknown || !strings.Contains(message, c.words) {
					t.Errorf("%s (retryable %t, unknown %t): %s", reason, retryable, out.Unknown, message)
				}
			})
		}
	}
}

func TestALostCallIsUnknownWhateverItsEffect(t *testing.T) {
	client := tooltest.Serve(t, &tooltest.Raw{Call: func(*toolv1.CallToolRequest, stream) error {
		return toolkit.StatusError(codes.Aborted, toolkit.ReasonCallLost, "lost")
	}})
	for _, effect := range []string{"keyed", "queryable", "opaque"} {
		if out := Do(t.Context(), aCall(client, effect, time.Minute), nil); !out.Unknown {
			t.Errorf("%s: %+v", effect, out)
		}
	}
}

func TestAProviderThatIsDown(t *testing.T) {
	conn, stop := tooltest.Start(t, &tooltest.Raw{})
	client := toolv1.NewToolProviderServiceClient(conn)
	stop()
	if reason, _, _ := failureOf(t, Do(t.Context(), aCall(client, "pure", 5*time.Second), nil)); reason != "PROVIDER_FAILED" && reason != "PROVIDER_UNAVAILABLE" {
		t.Errorf("reason %s", reason)
	}
}

func TestABrokenKeyedCallIsAskedFor(t *testing.T) {
	content := &toolv1.Result{ContentJson: `{"success":true,"task_id":"t1"}`}
	cases := []struct {
		name    string
		answers []*toolv1.GetCallResponse // the last is repeated; none: no answer
		reason  string                    // empty: the call has its result
		unknown bool
	}{
		{"it finished", []*toolv1.GetCallResponse{{State: "finished", Result: content}}, "", false},
		{"it finishes a moment later", []*toolv1.GetCallResponse{{State: "running"}, {State: "running"}, {State: "finished", Result: content}}, "", false},
		{"it was never begun", []*toolv1.GetCallResponse{{State: "unknown"}}, "PROVIDER_UNAVAILABLE", false},
		{"it was lost", []*toolv1.GetCallResponse{{State: "lost"}}, "OUTCOME_UNKNOWN", true},
		{"the provider cannot be asked", nil, "OUTCOME_UNKNOWN", true},
		{"the provider talks nonsense", []*toolv1.GetCallResponse{{State: "perhaps"}}, "OUTCOME_UNKNOWN", true},
		{"it kept what is not JSON", []*toolv1.GetCallResponse{{State: "finished", Result: &toolv1.Result{ContentJson: "<"}}}, "OUTCOME_UNKNOWN", true},
		{"its result is too long to be handed out", []*toolv1.GetCallResponse{{State: "finished"}}, "OUTCOME_UNKNOWN", true},
	}
	for _, c := range cases {
		for _, effect := range []string{"keyed", "queryable"} {
			t.Run(c.name+", "+effect, func(t *testing.T) {
				var cancelled, asked atomic.Int32
				client := tooltest.Serve(t, &tooltest.Raw{
					Call:   func(*toolv1.CallToolRequest, stream) error { return status.Error(codes.Unavailable, "broken") },
					Cancel: func(req *toolv1.CancelCallRequest) { cancelled.Add(1) },
					State: func(req *toolv1.GetCallRequest) (*toolv1.GetCallResponse, error) {
						if req.EffectKey != "key-1" || req.Name != "work" || cancelled.Load() != 1 {
							t.Errorf("asked for %v after %d cancels", req, cancelled.Load())
						}
						if len(c.answers) == 0 {
							return nil, status.Error(codes.Unavailable, "gone")
						}
						n := int(asked.Add(1)) - 1
						return c.answers[min(n, len(c.answers)-1)], nil
					},
				})
				out := Do(t.Context(), aCall(client, effect, time.Minute), nil)
				if c.reason == "" {
					if out.IsError || out.Content != content.ContentJson {
						t.Fatalf("%+v", out)
					}
					return
				}
				if reason, _, _ := failureOf(t, out); reason != c.reason || out.Unknown != c.unknown {
					t.Errorf("%s, unknown %t", reason, out.Unknown)
				}
			})
		}
	}
}

func TestAKeyedToolThatHangsIsCancelledAtItsProvider(t *testing.T) {
	p := tooltest.Provider(t)
	tool := tooltest.Tool("work")
	tool.Effect, tool.Sink = toolkit.EffectKeyed, toolkit.SinkWrite
	ended := make(chan error, 1)
	tooltest.Add(t, p, tool, func(ctx context.Context, _ *toolkit.Call, _ tooltest.Input) (toolkit.Result, error) {
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return toolkit.Result{}, ctx.Err()
	})
	out := Do(t.Context(), aCall(tooltest.Serve(t, p), "keyed", 50*time.Millisecond), nil)
	if reason, message, retryable := failureOf(t, out); reason != "TIMEOUT" && reason != "CANCELLED" || retryable || !strings.Contains(message, "may have taken effect") {
		t.Errorf("%s (retryable %t): %s", reason, retryable, message)
	}
	if err := <-ended; err == nil {
		t.Error("the tool went on")
	}
}

func TestACallThatNobodyWaitsFor(t *testing.T) {
	for _, effect := range []string{"pure", "keyed", "opaque"} {
		for _, left := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, left to another owner: %t", effect, left), func(t *testing.T) {
				begun := make(chan struct{})
				var cancelled atomic.Int32
				client := tooltest.Serve(t, &tooltest.Raw{
					Call:   func(_ *toolv1.CallToolRequest, s stream) error { close(begun); <-s.Context().Done(); return nil },
					Cancel: func(*toolv1.CancelCallRequest) { cancelled.Add(1) },
				})
				ctx, cancel := context.WithCancelCause(t.Context())
				go func() {
					<-begun
					if left {
						cancel(ErrLeft)
					} else {
						cancel(nil)
					}
				}()
				out := Do(ctx, aCall(client, effect, time.Minute), nil)
				if !out.Cancelled || out.Unknown != (effect != "pure") {
					t.Errorf("%+v", out)
				}
				if told := cancelled.Load() == 1; told != (effect == "keyed" && !left) {
					t.Errorf("the provider was told: %t", told)
				}
			})
		}
	}
}

func TestAskingAfterACallOfADeadProcess(t *testing.T) {
	kept := &toolv1.Result{ContentJson: `{"n":1}`, IsError: true, Origins: []string{"far:x"}, CostUsd: 0.5}
	cases := []struct {
		name    string
		answer  *toolv1.GetCallResponse
		ok      bool
		unknown bool
	}{
		{"finished", &toolv1.GetCallResponse{State: "finished", Result: kept}, true, false},
		{"finished with a long result, which calling again hands out", &toolv1.GetCallResponse{State: "finished"}, false, false},
		{"running, to which calling again attaches", &toolv1.GetCallResponse{State: "running"}, false, false},
		{"never seen", &toolv1.GetCallResponse{State: "unknown"}, false, false},
		{"lost", &toolv1.GetCallResponse{State: "lost"}, true, true},
		{"no answer", nil, true, true},
		{"a result that is not JSON", &toolv1.GetCallResponse{State: "finished", Result: &toolv1.Result{ContentJson: "{"}}, true, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			client := tooltest.Serve(t, &tooltest.Raw{State: func(*toolv1.GetCallRequest) (*toolv1.GetCallResponse, error) {
				if c.answer == nil {
					return nil, status.Error(codes.Unavailable, "gone")
				}
				return c.answer, nil
			}})
			out, ok := Ask(t.Context(), aCall(client, "queryable", time.Minute))
			if ok != c.ok || out.Unknown != c.unknown {
				t.Fatalf("%+v, %t", out, ok)
			}
			if ok && !c.unknown && (out.Content != `{"n":1}` || !out.IsError || out.CostUSD != 0.5 || len(out.Origins) != 1) {
				t.Errorf("%+v", out)
			}
		})
	}
}

func TestTheSpanOfACall(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	before := otel.GetTracerProvider()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)))
	t.Cleanup(func() { otel.SetTracerProvider(before) })
	p := tooltest.Provider(t)
	tooltest.Add(t, p, tooltest.Tool("work"), func(_ context.Context, _ *toolkit.Call, in tooltest.Input) (toolkit.Result, error) {
		return toolkit.Fail("TOO_SAD", in.Text, false), nil
	})
	out := Do(t.Context(), aCall(tooltest.Serve(t, p), "pure", time.Minute), nil)
	ended := spans.Ended()
	if len(ended) != 1 {
		t.Fatalf("%d spans", len(ended))
	}
	span := ended[0]
	got := map[string]string{}
	for _, a := range span.Attributes() {
		got[string(a.Key)] = a.Value.String()
	}
	for k, want := range map[string]string{
		"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "far__work", "gen_ai.tool.call.id": "call_1",
		"nanoclaw.tool.provider": "far", "nanoclaw.tool.attempt": "1", "error.type": "tool_error",
	} {
		if got[k] != want {
			t.Errorf("%s is %q, want %q", k, got[k], want)
		}
	}
	if span.Name() != "execute_tool far__work" || out.TraceID != span.SpanContext().TraceID().String() {
		t.Errorf("span %q, trace %s", span.Name(), out.TraceID)
	}
}
