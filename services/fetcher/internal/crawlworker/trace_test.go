package crawlworker

import (
	"context"
	"net/http"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/crawlworker/crawltest"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
)

func TestABatchIsASpanInTheTraceOfItsTask(t *testing.T) {
	site := serve(t, func(w http.ResponseWriter, r *http.Request) { page(w, r) })
	f := newFarm(t, site)
	recorder := tracetest.NewSpanRecorder()
	f.cfg.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("")
	inner := f.cfg.Fetch
	traces := make(chan trace.SpanContext, 10)
	who := make(chan auth.Principal, 10)
	f.cfg.Fetch = func(ctx context.Context, q Query) (Page, error) {
		traces <- trace.SpanContextFromContext(ctx)
		p, _ := auth.FromContext(ctx)
		who <- p
		return inner(ctx, q)
	}
	f.start()
	b := crawltest.Batch("1", site.URL, crawltest.Grant(1, time.Millisecond), "/a?secret=1")
	b.Traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	f.crawl(b)
	f.halt()
	ended := recorder.Ended()
	if len(ended) != 1 {
		t.Fatalf("%d spans", len(ended))
	}
	s := ended[0]
	if s.Name() != "crawl batch" || s.SpanContext().TraceID().String() != "0af7651916cd43dd8448eb211c80319c" ||
		s.Parent().SpanID().String() != "b7ad6b7169203331" || len(s.Links()) != 1 {
		t.Errorf("span %s of %s below %s", s.Name(), s.SpanContext().TraceID(), s.Parent().SpanID())
	}
	if got := <-traces; got.SpanID() != s.SpanContext().SpanID() {
		t.Error("the fetch is not below the batch")
	}
	if p := <-who; p.Kind != auth.KindService || p.Service != "fetcher" {
		t.Errorf("the worker acts as %v", p)
	}
	attrs := map[string]string{}
	for _, kv := range s.Attributes() {
		attrs[string(kv.Key)] = kv.Value.String()
	}
	if attrs["nanoclaw.crawl.task_id"] != "task-1" || attrs["nanoclaw.crawl.origin"] != site.URL || attrs["nanoclaw.crawl.addresses"] != "1" || attrs["nanoclaw.crawl.pages"] != "1" {
		t.Errorf("attributes %v", attrs)
	}
}

func TestWhichErrorsPass(t *testing.T) {
	for code, want := range map[codes.Code]bool{
		codes.Unavailable: true, codes.DeadlineExceeded: true, codes.ResourceExhausted: true, codes.Internal: true,
		codes.Aborted: false, codes.InvalidArgument: false, codes.PermissionDenied: false, codes.Unimplemented: false,
	} {
		if passing(status.Error(code, "")) != want {
			t.Errorf("%s: %v", code, !want)
		}
	}
}
