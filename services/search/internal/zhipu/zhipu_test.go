package zhipu

import (
	"errors"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adaptertest"
)

var engine = New(Config{Key: "KEY"})

// known are the parameters of the engine that we send.
var known = []string{
	"search_query", "search_engine", "search_intent", "count", "search_domain_filter", "search_recency_filter", "content_size",
}

func TestEveryOptionIsExpressedOrNamed(t *testing.T) {
	adaptertest.Options(t, "", engine, known, adapter.OptionLanguage, adapter.OptionRegion)
}

func TestAnswersAreReadAsWritten(t *testing.T) { adaptertest.Answers(t, "", engine) }

func TestWithoutSettingsNothingIsAsked(t *testing.T) {
	if _, err := New(Config{}).Plan(adapter.Query{Text: "tea"}); !errors.Is(err, adapter.ErrNotConfigured) {
		t.Errorf("got %v", err)
	}
}

func FuzzParse(f *testing.F) { adaptertest.Fuzz(f, "", engine) }
