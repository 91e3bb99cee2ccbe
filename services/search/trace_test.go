package search

import (
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func TestEveryAttemptIsASpanWithoutTheQuery(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	before := otel.GetTracerProvider()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)))
	t.Cleanup(func() { otel.SetTracerProvider(before) })
	s := start(t, func(c *Config) {
		c.Bing = engineAt(t, says(200, challengePage))
		c.DuckDuckGo = engineAt(t, says(200, duckPage("secret plans", "https://tea.example/")))
	})
	if _, err := s.Search(as(t, "ann"), ask("secret plans")); err != nil {
		t.Fatal(err)
	}
	var got []map[attribute.Key]string
	for _, span := range spans.Ended() {
		if span.Name() != "search.attempt" {
			t.Errorf("span %q", span.Name())
		}
		attrs := map[attribute.Key]string{}
		for _, a := range span.Attributes() {
			attrs[a.Key] = a.Value.String()
			if a.Value.String() == "secret plans" {
				t.Errorf("%s tells the query", a.Key)
			}
		}
		got = append(got, attrs)
	}
	if len(got) != 2 {
		t.Fatalf("%d spans", len(got))
	}
	for i, want := range []map[attribute.Key]string{
		{"search.provider": "bing", "search.outcome": "CHALLENGE", "search.count": "0", "search.query_sha256": digest("secret plans")},
		{"search.provider": "duckduckgo", "search.outcome": "OK", "search.count": "1", "search.query_sha256": digest("secret plans")},
	} {
		for k, v := range want {
			if got[i][k] != v {
				t.Errorf("span %d: %s is %q, want %q", i, k, got[i][k], v)
			}
		}
	}
}
