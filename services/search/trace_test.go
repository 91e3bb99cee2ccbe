package search

import (
	"fmt"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
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

func TestEveryEntryOfTheAttemptsIsASpanWithItsOutcome(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	before := otel.GetTracerProvider()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)))
	t.Cleanup(func() { otel.SetTracerProvider(before) })
	s, w, end := startInMemory(t, nil)
	defer end()
	w.set("bing", says(200, bingPage("tea", "https://tea.example/")))
	w.set("brave", says(503, "{}"))
	page := int32(2)
	for name, req := range map[string]*searchv1.SearchRequest{
		"fused":                 {Query: "tea", Mode: "fused", Providers: []string{"bing", "brave_web"}},
		"from the cache":        {Query: "tea", Provider: "bing"},
		"one that lacks a page": {Query: "tea", Providers: []string{"duckduckgo", "bing"}, Page: &page},
	} {
		spans.Reset()
		got, err := s.Search(as(t, "ann"), req)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int{}
		for _, a := range got.Attempts {
			want[fmt.Sprint(a.Provider, a.Outcome, a.Cache, a.Skipped, a.CostUsd)]++
		}
		for _, span := range spans.Ended() {
			at := map[attribute.Key]attribute.Value{}
			for _, kv := range span.Attributes() {
				at[kv.Key] = kv.Value
			}
			key := fmt.Sprint(at["search.provider"].AsString(), at["search.outcome"].AsString(), at["search.cache"].AsString(), at["search.skipped"].AsBool(), at["search.cost_usd"].AsFloat64())
			if span.Name() != "search.attempt" || want[key] == 0 {
				t.Errorf("%s: a span %s of %s", name, span.Name(), key)
			}
			want[key]--
		}
		for key, n := range want {
			if n != 0 {
				t.Errorf("%s: no span of %s", name, key)
			}
		}
	}
}
