package brave

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
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

func TestAnswersOfOtherShapesAreReadForWhatTheyAre(t *testing.T) {
	adaptertest.Shapes(t, NewLLM(config), adaptertest.Shape{File: "llm_pages_alone", List: "grounding.generic", Title: "title", URL: "url"})
	adaptertest.Shapes(t, NewWeb(config), adaptertest.Shape{File: "web_results", List: "web.results", Title: "title", URL: "url"})
	adaptertest.Shapes(t, NewWeb(config), adaptertest.Shape{File: "web_news", List: "results", Title: "title", URL: "url"})
}

func TestLanguagesHaveTheNamesThatBraveKnows(t *testing.T) {
	cases := []struct {
		q    adapter.Query
		want string
	}{
		{adapter.Query{Language: "zh"}, "zh-hans"}, {adapter.Query{Language: "zh-Hans"}, "zh-hans"}, {adapter.Query{Language: "zh-CN"}, "zh-hans"},
		{adapter.Query{Language: "zh-Hant"}, "zh-hant"}, {adapter.Query{Language: "zh-HK"}, "zh-hant"}, {adapter.Query{Language: "ZH_tw"}, "zh-hant"},
		{adapter.Query{Language: "zh", Region: "HK"}, "zh-hant"}, {adapter.Query{Language: "zh-Hans", Region: "HK"}, "zh-hans"},
		{adapter.Query{Text: "龙井茶", Region: "TW"}, "zh-hant"}, {adapter.Query{Language: "cmn"}, "zh-hans"},
		{adapter.Query{Language: "ja"}, "jp"}, {adapter.Query{Language: "nb"}, "nb"}, {adapter.Query{Language: "nn"}, "nb"}, {adapter.Query{Language: "no"}, "nb"},
		{adapter.Query{Language: "pt"}, "pt-br"}, {adapter.Query{Language: "pt-BR"}, "pt-br"}, {adapter.Query{Language: "pt-PT"}, "pt-pt"},
		{adapter.Query{Language: "PT_pt"}, "pt-pt"}, {adapter.Query{Language: "pt-AO"}, "pt-pt"}, {adapter.Query{Language: "pt", Region: "PT"}, "pt-pt"},
		{adapter.Query{Language: "pt-BR", Region: "PT"}, "pt-br"}, {adapter.Query{Language: "en"}, "en"}, {adapter.Query{Language: "en-GB"}, "en-gb"},
		{adapter.Query{Language: "en_gb"}, "en-gb"}, {adapter.Query{Language: "en-US"}, "en"}, {adapter.Query{Language: "iw"}, "he"},
		{adapter.Query{Language: "sr-Latn"}, "sr"}, {adapter.Query{Language: "in"}, ""}, {adapter.Query{Language: "tlh"}, ""}, {adapter.Query{Language: "und"}, ""},
	}
	for _, c := range cases {
		c.q.Text = cmp.Or(c.q.Text, "tea")
		plan, err := NewWeb(config).Plan(c.q)
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(plan.Request.URL)
		if err != nil {
			t.Fatal(err)
		}
		if got := u.Query().Get("search_lang"); got != c.want || (got == "") != slices.Contains(plan.Dropped, adapter.OptionLanguage) {
			t.Errorf("%q in %q: %q without %v, want %q", c.q.Language, c.q.Region, got, plan.Dropped, c.want)
		}
	}
}

func FuzzParseLLM(f *testing.F) { adaptertest.Fuzz(f, "llm_", NewLLM(config)) }

func FuzzParseWeb(f *testing.F) { adaptertest.Fuzz(f, "web_", NewWeb(config)) }
