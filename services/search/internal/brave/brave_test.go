package brave

import (
	"errors"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adaptertest"
)

var config = Config{Key: "KEY"}

// The parameters of Brave; SearXNG's offset in rows and time_range are not
// among them.
var (
	knownLLM = []string{
		"q", "country", "search_lang", "count", "freshness", "maximum_number_of_urls", "maximum_number_of_tokens",
		"maximum_number_of_tokens_per_url", "goggles",
	}
	knownWeb = []string{
		"q", "country", "search_lang", "count", "offset", "freshness", "safesearch", "extra_snippets", "goggles",
		"result_filter", "text_decorations",
	}
)

func TestEveryOptionIsExpressedOrNamed(t *testing.T) {
	adaptertest.Options(t, "llm_", NewLLM(config), knownLLM)
	adaptertest.Options(t, "web_", NewWeb(config), knownWeb)
}

func TestAnswersAreReadAsWritten(t *testing.T) {
	adaptertest.Answers(t, "llm_", NewLLM(config))
	adaptertest.Answers(t, "web_", NewWeb(config))
}

func TestWithoutAKeyNothingIsAsked(t *testing.T) {
	for _, a := range []adapter.Adapter{NewLLM(Config{}), NewWeb(Config{})} {
		if _, err := a.Plan(adapter.Query{Text: "tea"}); !errors.Is(err, adapter.ErrNotConfigured) {
			t.Errorf("%s: got %v", a.Name(), err)
		}
	}
}

func FuzzParseLLM(f *testing.F) { adaptertest.Fuzz(f, "llm_", NewLLM(config)) }

func FuzzParseWeb(f *testing.F) { adaptertest.Fuzz(f, "web_", NewWeb(config)) }
