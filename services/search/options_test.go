package search

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"

	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/catalog"
)

func TestOptionsOfARequestReachTheAdapter(t *testing.T) {
	today := time.Date(2026, 3, 15, 10, 0, 0, 0, time.UTC)
	page, most := int32(3), int32(7)
	s := &Service{cfg: DefaultConfig()}
	got, err := check(s.question(&searchv1.SearchRequest{
		Query: " tea  guide ", MaxResults: &most, Page: &page, Freshness: "week", Language: "zh-Hans", Region: "cn", SafeSearch: "strict",
		Location: &searchv1.SearchLocation{City: "Hangzhou", Region: "Zhejiang", Country: "cn", Timezone: "Asia/Shanghai", Latitude: 30, Longitude: 120},
		News:     true, Passages: true, MaxTokens: 900, BlockedDomains: []string{"a.example"},
	}), today)
	if err != nil {
		t.Fatal(err)
	}
	want := adapter.Query{
		Text: "tea guide", Count: 14, Page: 3, BlockedDomains: []string{"a.example"}, Freshness: adapter.Within(adapter.Week, today),
		Language: "zh-Hans", Region: "CN", SafeSearch: adapter.SafeStrict,
		Location: adapter.Location{City: "Hangzhou", Region: "Zhejiang", Country: "CN", Timezone: "Asia/Shanghai", Latitude: 30, Longitude: 120},
		News:     true, Passages: true, PassageTokens: 900,
	}
	if !slices.Equal(got.asked.BlockedDomains, want.BlockedDomains) {
		t.Errorf("blocked %v", got.asked.BlockedDomains)
	}
	got.asked.BlockedDomains, want.BlockedDomains = nil, nil
	if !sameQuery(got.asked, want) {
		t.Errorf("got  %+v\nwant %+v", got.asked, want)
	}
}

func sameQuery(a, b adapter.Query) bool {
	return len(a.AllowedDomains) == len(b.AllowedDomains) && a.Text == b.Text && a.Count == b.Count && a.Page == b.Page &&
		a.Freshness == b.Freshness && a.Language == b.Language && a.Region == b.Region && a.SafeSearch == b.SafeSearch &&
		a.Location == b.Location && a.News == b.News && a.Passages == b.Passages && a.PassageTokens == b.PassageTokens
}

func TestSpansOfDays(t *testing.T) {
	today := time.Date(2026, 3, 15, 10, 0, 0, 0, time.UTC)
	cases := []struct {
		name, from, to string
		wantFrom, want string // days, or
		field          string // that is wrong
	}{
		{"both", "2025-01-01", "2025-03-31", "2025-01-01", "2025-03-31", ""},
		{"one day", "2025-01-01", "2025-01-01", "2025-01-01", "2025-01-01", ""},
		{"until today", "2025-01-01", "", "2025-01-01", "2026-03-15", ""},
		{"since ever", "", "2025-03-31", "1990-01-01", "2025-03-31", ""},
		{"the wrong way round", "2025-03-31", "2025-01-01", "", "", "published_to"},
		{"from tomorrow on, which has begun in the east", "2026-03-16", "", "2026-03-16", "2026-03-16", ""},
		{"from the day after on", "2026-03-17", "", "", "", "published_from"},
		{"days to come", "2027-01-01", "2027-02-01", "", "", "published_from"},
		{"until some day", "2025-01-01", "2027-02-01", "2025-01-01", "2027-02-01", ""},
		{"before the web", "", "1980-01-01", "", "", "published_to"},
		{"between days before the web", "1970-01-01", "1980-01-01", "", "", "published_to"},
		{"no such day", "2025-02-30", "", "", "", "published_from"},
		{"a time", "", "2025-01-01T00:00:00Z", "", "", "published_to"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := check(question{text: "tea", maxResults: 5, from: c.from, to: c.to}, today)
			if c.field != "" {
				if f := fieldsOf(err); !slices.Equal(f, []string{c.field}) {
					t.Errorf("got %v naming %v", err, f)
				}
				return
			}
			f := got.asked.Freshness
			if err != nil || f.From.Format(time.DateOnly) != c.wantFrom || f.To.Format(time.DateOnly) != c.want || f.Window != "" {
				t.Errorf("%+v (%v)", f, err)
			}
		})
	}
}

func fieldsOf(err error) []string {
	var out []string
	for _, d := range rpcerr.From(err).Details() {
		if bad, ok := d.(*errdetails.BadRequest); ok {
			for _, v := range bad.FieldViolations {
				out = append(out, v.Field)
			}
		}
	}
	return out
}

func TestBadOptionsNameTheirFields(t *testing.T) {
	page := int32(51)
	cases := []struct {
		name   string
		req    *searchv1.SearchRequest
		fields string
	}{
		{"a page beyond the last", &searchv1.SearchRequest{Page: &page}, "page"},
		{"an unknown mode", &searchv1.SearchRequest{Mode: "both"}, "mode"},
		{"an unknown age", &searchv1.SearchRequest{Freshness: "hour"}, "freshness"},
		{"an age and days", &searchv1.SearchRequest{Freshness: "day", PublishedTo: "2025-01-01"}, "freshness"},
		{"a language by its name", &searchv1.SearchRequest{Language: "English"}, "language"},
		{"a country by its name", &searchv1.SearchRequest{Region: "China"}, "region"},
		{"a country that there is not", &searchv1.SearchRequest{Region: "ZZ"}, "region"},
		{"a group of countries", &searchv1.SearchRequest{Region: "eu"}, "region"},
		{"digits for a country", &searchv1.SearchRequest{Location: &searchv1.SearchLocation{Country: "01"}}, "location.country"},
		{"a country of three letters", &searchv1.SearchRequest{Location: &searchv1.SearchLocation{Country: "CHN"}}, "location.country"},
		{"an unknown level", &searchv1.SearchRequest{SafeSearch: "on"}, "safe_search"},
		{"north of the pole", &searchv1.SearchRequest{Location: &searchv1.SearchLocation{Latitude: 91, Longitude: -181}}, "location.latitude location.longitude"},
		{"no time zone", &searchv1.SearchRequest{Location: &searchv1.SearchLocation{Timezone: "Asia Shanghai"}}, "location.timezone"},
		{"too large a budget", &searchv1.SearchRequest{Passages: true, MaxTokens: 40_000}, "max_tokens"},
		{"an unknown word about the cache", &searchv1.SearchRequest{Cache: "no"}, "cache"},
		{"one provider and several", &searchv1.SearchRequest{Provider: "bing", Providers: []string{"duckduckgo"}}, "providers"},
		{"too many providers", &searchv1.SearchRequest{Providers: []string{"a", "b", "c", "d", "e"}}, "providers"},
		{"an unknown one of several", &searchv1.SearchRequest{Providers: []string{"bing", "altavista"}}, "providers"},
	}
	s, w, end := startInMemory(t, nil)
	defer end()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.req.Query = "tea"
			_, err := s.Search(as(t, "ann"), c.req)
			if got := strings.Join(fieldsOf(err), " "); rpcerr.From(err).Code() != codes.InvalidArgument || got != c.fields {
				t.Errorf("got %v naming %s, want %s", err, got, c.fields)
			}
		})
	}
	if len(w.asked) > 0 {
		t.Errorf("asked %v", w.asked)
	}
}

func TestAnOptionThatAnEngineLacksIsNeverDroppedInSilence(t *testing.T) {
	cases := []struct {
		name    string
		change  func(*searchv1.SearchRequest)
		trail   string // or
		reason  string
		dropped string
	}{
		{"one engine has it: the other is passed over", func(r *searchv1.SearchRequest) { r.Page = new(int32(2)) }, "duckduckgo=UNSUPPORTED_OPTION bing=OK", "", ""},
		{"nobody has it: it is said", func(r *searchv1.SearchRequest) { r.Location = &searchv1.SearchLocation{City: "Oslo"} }, "duckduckgo=OK", "", "location"},
		{"nobody has it and it must be", func(r *searchv1.SearchRequest) {
			r.Location, r.StrictOptions = &searchv1.SearchLocation{City: "Oslo"}, true
		}, "", "UNSUPPORTED_OPTION", ""},
		{"one has it and it must be", func(r *searchv1.SearchRequest) { r.Page, r.StrictOptions = new(int32(2)), true }, "duckduckgo=UNSUPPORTED_OPTION bing=OK", "", ""},
		{"a named engine lacks it", func(r *searchv1.SearchRequest) { r.Page, r.Provider = new(int32(2)), "duckduckgo" }, "duckduckgo=OK", "", "page"},
		{"what the service does itself is not dropped", func(r *searchv1.SearchRequest) { r.MaxResults = new(int32(1)) }, "duckduckgo=OK", "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, w, end := startInMemory(t, func(cfg *Config) { cfg.Policy = map[string][]string{"*": {"duckduckgo", "bing"}} })
			defer end()
			w.set("bing", says(200, bingPage("tea", "https://tea.example/")))
			w.set("duckduckgo", says(200, duckPage("tea", "https://leaf.example/")))
			req := ask("tea")
			c.change(req)
			got, err := s.Search(as(t, "ann"), req)
			if c.reason != "" {
				if rpcerr.Reason(err) != c.reason || !slices.Equal(fieldsOf(err), []string{"location"}) || !strings.Contains(err.Error(), "bing lacks location") {
					t.Errorf("got %v (%v)", got, err)
				}
				return
			}
			if err != nil || trail(got) != c.trail || strings.Join(got.DroppedOptions, " ") != c.dropped {
				t.Fatalf("%s without %v (%v)", trail(got), got.GetDroppedOptions(), err)
			}
			if told := strings.Contains(got.Markdown, "the results do not heed them: "+c.dropped); told != (c.dropped != "") {
				t.Errorf("the model reads %s", got.Markdown)
			}
		})
	}
}

func TestPassagesStayWithinTheirBudget(t *testing.T) {
	long := strings.Repeat("leaf ", 400) // 500 tokens
	body := `{"grounding":{"generic":[{"url":"https://a.example/","title":"A","snippets":["` + long + `"]},{"url":"https://b.example/","title":"B","snippets":["` + long + `"]}],"map":[]},"sources":{}}`
	for _, c := range []struct {
		name     string
		passages bool
		tokens   int32
		want     []int // passages of each result
		cut      bool
	}{
		{"not asked for", false, 0, []int{0, 0}, false},
		{"without a budget", true, 0, []int{1, 1}, false},
		{"the second is cut", true, 700, []int{1, 1}, true},
		{"the second is left out", true, 505, []int{1, 0}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, w, end := startInMemory(t, nil)
			defer end()
			w.set("brave", func(to http.ResponseWriter, _ *http.Request) { says(200, body)(to, nil) })
			req := ask("tea leaf")
			req.Provider, req.Passages, req.MaxTokens = "brave_llm", c.passages, c.tokens
			got, err := s.Search(as(t, "ann"), req)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range got.Results {
				if len(r.Passages) != c.want[i] {
					t.Errorf("result %d has %d passages, want %d", i+1, len(r.Passages), c.want[i])
				}
			}
			if told := strings.Contains(got.Markdown, "passages were cut or left out"); told != c.cut {
				t.Errorf("tells of a cut: %t", told)
			}
			if quoted := strings.Contains(got.Markdown, "\n   > leaf leaf"); quoted != c.passages {
				t.Errorf("quotes passages: %t", quoted)
			}
		})
	}
}

func TestTheLanguageOfASearchDecidesWhoIsAsked(t *testing.T) {
	cases := []struct {
		name, query, language, want string
	}{
		{"Chinese by its script", "龙井茶的产地", "", "baidu"},
		{"Chinese by the caller's word", "tea guide", "zh-Hant", "baidu"},
		{"English", "tea guide", "", "bing"},
		{"a Chinese query with another language named", "龙井茶的产地", "en", "bing"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, w, end := startInMemory(t, func(cfg *Config) { cfg.Policy = map[string][]string{"zh": {"baidu"}, "*": {"bing"}} })
			defer end()
			w.set("bing", says(200, nothingPage))
			_, _ = s.Search(as(t, "ann"), &searchv1.SearchRequest{Query: c.query, Language: c.language})
			if w.times(c.want) != 1 || len(w.asked) != 1 {
				t.Errorf("asked %v", w.asked)
			}
		})
	}
}

func TestTheBuiltInPolicy(t *testing.T) {
	names := func(c Config) string {
		all, err := c.Engines()
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, e := range all {
			out = append(out, e.Engine)
		}
		return strings.Join(out, " ")
	}
	if got := names(DefaultConfig()); got != "bing duckduckgo" {
		t.Errorf("with nothing set up: %s", got)
	}
	c := DefaultConfig()
	c.Tavily.APIKey, c.SearXNG.BaseURL, c.Zhipu.APIKey = "k", "http://127.0.0.1:1", "k"
	if got := names(c); got != "searxng tavily bing duckduckgo" {
		t.Errorf("with some set up: %s", got)
	}
	for _, tiers := range builtInPolicy() {
		for _, name := range slices.Concat(tiers...) {
			if !slices.Contains(catalog.Names(), name) {
				t.Errorf("%s is no engine", name)
			}
		}
	}
}

func TestEveryEngineHasItsSettings(t *testing.T) {
	var names []string
	for _, e := range DefaultConfig().engines() {
		names = append(names, e.name)
	}
	if want := catalog.Names(); !slices.Equal(slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(want))) {
		t.Errorf("settings of %v, engines %v", names, want)
	}
	c := DefaultConfig()
	c.Anthropic = AnthropicConfig{KeyedConfig{APIKey: "k"}, "small", "", 1, 5}
	c.Zhipu.APIKey, c.Zhipu.Index, c.Brave.APIKey = "k", "search_pro", "k"
	for _, e := range c.engines() {
		s := e.settings
		switch e.name {
		case "anthropic":
			if s.Key != "k" || s.Model != "small" || s.InputUSD != 1 || s.OutputUSD != 5 {
				t.Errorf("anthropic: %+v", s)
			}
		case "zhipu":
			if s.Key != "k" || s.Index != "search_pro" {
				t.Errorf("zhipu: %+v", s)
			}
		case "brave_llm", "brave_web":
			if s.Key != "k" || e.section != "brave" {
				t.Errorf("%s: %+v in %s", e.name, s, e.section)
			}
		}
	}
}

func TestPoliciesThatCannotBeAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		policy map[string][]string
		want   string
	}{
		"no language": {map[string][]string{"chinese": {"bing"}}, `"chinese" is no base language`},
		"a region":    {map[string][]string{"zh-CN": {"bing"}}, `"zh-CN" is no base language`},
		"no engine":   {map[string][]string{"zh": {}}, "search.policy.zh names no engine"},
		"a mistyped":  {map[string][]string{"zh": {"bidu"}}, "did you mean baidu?"},
		"an alias":    {map[string][]string{"*": {"brave", "api"}}, ""},
	} {
		cfg := DefaultConfig()
		cfg.Policy = c.policy
		err := cfg.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCountriesAreNamedAsTheyAreToday(t *testing.T) {
	for code, want := range map[string]string{
		"US": "US", "gb": "GB", "uk": "GB", "UK": "GB", "AQ": "AQ", "XK": "XK", "EU": "", "ZZ": "", "xx": "", "USA": "", "1": "", "840": "", "": "", "é": "",
	} {
		if got := country(code); got != want {
			t.Errorf("%q is %q, want %q", code, got, want)
		}
	}
}

func TestWhatAReaderSees(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, " \t": 0, "茶": 1, "茶 馆": 2, "שלום": 4, "\u202eab": 2, "\u200b": 0, "\U0001f642\U0001f642": 2,
		"\U0001f468\u200d\U0001f467": 2, "\u2764\ufe0f": 1, "C#": 2, "é!": 2,
	} {
		if got := visible(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
