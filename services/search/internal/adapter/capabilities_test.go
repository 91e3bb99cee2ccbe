package adapter

import (
	"slices"
	"testing"
	"time"
)

func TestWhatAnEngineLacksIsNamed(t *testing.T) {
	today := time.Date(2025, 12, 1, 15, 0, 0, 0, time.UTC)
	nothing := Capabilities{}
	some := Capabilities{
		MaxCount: 20, MaxPage: 3, AllowedDomains: 2, Windows: []Window{Day}, Languages: []string{"zh", "no"}, Regions: []string{"CN"},
		SafeSearch: []SafeSearch{SafeStrict}, Passages: true,
	}
	everywhere := Capabilities{Languages: []string{Any}, Regions: []string{Any}, Range: true}
	cases := []struct {
		name string
		c    Capabilities
		q    Query
		want []Option
	}{
		{"nothing asked, nothing lacking", nothing, Query{Text: "tea"}, nil},
		{"the first page is everybody's", nothing, Query{Page: 1}, nil},
		{"a count at the most", some, Query{Count: 20}, nil},
		{"a count beyond the most", some, Query{Count: 21}, []Option{OptionMaxResults}},
		{"a count for an engine without one", nothing, Query{Count: 1}, []Option{OptionMaxResults}},
		{"the last page", some, Query{Page: 3}, nil},
		{"a page beyond the last", some, Query{Page: 4}, []Option{OptionPage}},
		{"as many domains as there may be", some, Query{AllowedDomains: []string{"a", "b"}}, nil},
		{"more domains", some, Query{AllowedDomains: []string{"a", "b", "c"}}, []Option{OptionAllowedDomains}},
		{"blocked domains", some, Query{BlockedDomains: []string{"a"}}, []Option{OptionBlockedDomains}},
		{"a window that there is", some, Query{Freshness: Within(Day, today)}, nil},
		{"a window that there is not", some, Query{Freshness: Within(Week, today)}, []Option{OptionFreshness}},
		{"a range for an engine with windows", some, Query{Freshness: Between(today, today)}, []Option{OptionFreshness}},
		{"a window for an engine with ranges", everywhere, Query{Freshness: Within(Year, today)}, nil},
		{"a language with a script", some, Query{Language: "zh-Hant-TW"}, nil},
		{"a language by another name", some, Query{Language: "nb"}, nil},
		{"a language that there is not", some, Query{Language: "de"}, []Option{OptionLanguage}},
		{"no language at all", everywhere, Query{Language: "??"}, []Option{OptionLanguage}},
		{"any language", everywhere, Query{Language: "de"}, nil},
		{"any region", everywhere, Query{Region: "AQ"}, nil},
		{"a region that there is not", some, Query{Region: "US"}, []Option{OptionRegion}},
		{"a level that there is", some, Query{SafeSearch: SafeStrict}, nil},
		{"a level that there is not", some, Query{SafeSearch: SafeOff}, []Option{OptionSafeSearch}},
		{"a location", some, Query{Location: Location{City: "Oslo"}}, []Option{OptionLocation}},
		{"news", some, Query{News: true}, []Option{OptionNews}},
		{"passages without their length", some, Query{Passages: true, PassageTokens: 9}, []Option{OptionPassageTokens}},
		{"a length without passages", nothing, Query{PassageTokens: 9}, nil},
		{"everything at once, in order", nothing, Query{
			News: true, Count: 1, Language: "de", Region: "DE", Page: 2, Passages: true, PassageTokens: 1, SafeSearch: SafeOff,
			Freshness: Within(Day, today), Location: Location{City: "x"}, AllowedDomains: []string{"a"}, BlockedDomains: []string{"b"},
		}, Options()},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := c.c.Missing(c.q)
			if !slices.Equal(got, c.want) {
				t.Fatalf("got %v, want %v", got, c.want)
			}
			rest, dropped := c.c.Fit(c.q)
			if !slices.Equal(dropped, c.want) || len(c.c.Missing(rest)) > 0 {
				t.Errorf("Fit leaves %+v, which lacks %v", rest, c.c.Missing(rest))
			}
		})
	}
}

func TestOptionsThatTheServiceMakesUpForAreNotHard(t *testing.T) {
	soft := []Option{OptionMaxResults, OptionAllowedDomains, OptionBlockedDomains, OptionPassageTokens}
	for _, o := range Options() {
		if o.Hard() == slices.Contains(soft, o) {
			t.Errorf("%s hard: %t", o, o.Hard())
		}
	}
}

func TestFreshnessHasItsDays(t *testing.T) {
	now := time.Date(2025, 3, 31, 23, 30, 0, 0, time.FixedZone("", -2*60*60)) // the first of April in UTC
	for w, from := range map[Window]string{Day: "2025-03-31", Week: "2025-03-25", Month: "2025-03-01", Year: "2024-04-01"} {
		f := Within(w, now)
		if got := f.From.Format(time.DateOnly); got != from || f.To.Format(time.DateOnly) != "2025-04-01" || f.IsZero() {
			t.Errorf("%s is from %s to %s, want from %s", w, got, f.To.Format(time.DateOnly), from)
		}
	}
}

func TestShorten(t *testing.T) {
	cases := []struct {
		name         string
		words, runes int
		text, want   string
	}{
		{"what fits stays", 3, 20, "green tea leaf", "green tea leaf"},
		{"words beyond go", 2, 0, "green tea leaf", "green tea"},
		{"many blanks are one", 2, 0, "green   tea   leaf", "green   tea"},
		{"a cut word goes whole", 0, 12, "green tea leaf", "green tea"},
		{"a word that just fits stays", 0, 9, "green tea leaf", "green tea"},
		{"without blanks it is cut where it is", 0, 5, "杭州龙井茶的产地", "杭州龙井茶"},
		{"a long last word is cut rather than lost", 0, 12, "a incomprehensibilities", "a incomprehe"},
		{"no bounds", 0, 0, "green tea", "green tea"},
		{"a letter keeps its accent", 0, 4, "cafe\u0301 de flore", "caf"},
		{"a letter with its accent", 0, 5, "cafe\u0301s", "cafe\u0301"},
		{"a family stays together", 0, 6, "茶👩\u200d👩\u200d👧\u200d👦道", "茶"},
		{"a skin stays with its hand", 0, 2, "茶👍🏽道", "茶"},
		{"a flag is two letters", 0, 4, "茶🇨🇳🇯🇵", "茶🇨🇳"},
		{"a syllable in its parts", 0, 3, "가\u1102\u1161\u11ab나", "가"},
		{"a character longer than the room", 0, 2, "e\u0301\u0302\u0303", "e\u0301"},
		{"a site goes whole", 0, 16, "tea site:example.com", "tea"},
		{"a word left out goes whole", 0, 8, "tea -ceremony", "tea"},
		{"a phrase that stays open is words", 4, 0, `tea "green leaf from uji"`, "tea green leaf from"},
		{"a phrase that begins at the cut", 0, 8, `tea "ceremonial"`, "tea"},
		{"a phrase left out goes whole", 3, 0, `tea -"green leaf from uji" hot`, "tea"},
		{"a phrase in a title goes whole", 3, 0, `tea intitle:"green leaf from uji"`, "tea"},
		{"a closed phrase stays", 3, 0, `"green tea" leaf from`, `"green tea" leaf`},
		{"or without a second half", 2, 0, "tea OR coffee", "tea"},
		{"several of them", 3, 0, "tea OR NOT coffee", "tea"},
		{"an open group", 3, 0, "(tea OR coffee) hot (milk OR honey)", "(tea OR coffee)"},
		{"a group that stays open", 4, 0, "hot (tea OR coffee OR milk)", "hot tea OR coffee"},
		{"nothing but a phrase", 0, 6, `"green tea"`, "green"},
		{"nothing but an operator", 0, 8, "site:example.com", "site:exa"},
	}
	for _, c := range cases {
		got, short := Capabilities{MaxQueryWords: c.words, MaxQueryRunes: c.runes}.Shorten(c.text)
		if got != c.want || short != (c.text != c.want) {
			t.Errorf("%s: got %q (%t), want %q", c.name, got, short, c.want)
		}
	}
}

func TestMarketIsThatOfLanguageAndRegion(t *testing.T) {
	markets := Markets{
		{"en", "US", "en-US"}, {"en", "GB", "en-GB"}, {"zh", "CN", "zh-CN"}, {"zh", "TW", "zh-TW"}, {"zh", "HK", "zh-HK"}, {"fr", "FR", "fr-FR"}, {"fr", "CA", "fr-CA"},
		{"en", "CA", "en-CA"}, {"ja", "JP", "ja-JP"},
	}
	c := Capabilities{Languages: markets.Languages(), Regions: markets.Regions()}
	cases := []struct {
		name string
		q    Query
		want string
		lost []Option
	}{
		{"nothing said", Query{Text: "tea"}, "", nil},
		{"both", Query{Text: "tea", Language: "en", Region: "GB"}, "en-GB", nil},
		{"the language alone", Query{Text: "tea", Language: "fr"}, "fr-FR", nil},
		{"the region alone", Query{Text: "tea", Region: "CA"}, "fr-CA", nil},
		{"the language of the text", Query{Text: "龙井茶"}, "zh-CN", nil},
		{"the text and a region of its language", Query{Text: "龙井茶", Region: "TW"}, "zh-TW", nil},
		{"the text and a region of another language", Query{Text: "龙井茶", Region: "GB"}, "en-GB", nil},
		{"traditional characters", Query{Text: "tea", Language: "zh-Hant"}, "zh-TW", nil},
		{"traditional characters of a region", Query{Text: "tea", Language: "zh-HK"}, "zh-HK", nil},
		{"simplified characters of a region that writes the others", Query{Text: "tea", Language: "zh-Hans-HK"}, "zh-CN", nil},
		{"traditional characters of a region without a market", Query{Text: "tea", Language: "zh-MO"}, "zh-TW", nil},
		{"Chinese by its longer name", Query{Text: "tea", Language: "cmn-Hant"}, "zh-TW", nil},
		{"a country in the tag", Query{Text: "tea", Language: "en-GB"}, "en-GB", nil},
		{"in other letters", Query{Text: "tea", Language: "EN_gb"}, "en-GB", nil},
		{"a country in the tag without a market", Query{Text: "tea", Language: "en-JM"}, "en-US", nil},
		{"a region counts more than the tag", Query{Text: "tea", Language: "en-GB", Region: "CA"}, "en-CA", nil},
		{"a continent in the tag", Query{Text: "tea", Language: "fr-002"}, "fr-FR", nil},
		{"a language that is none", Query{Text: "tea", Language: "und"}, "", nil},
		{"simplified characters by region", Query{Text: "tea", Language: "zh-CN"}, "zh-CN", nil},
		{"no market for both", Query{Text: "tea", Language: "ja", Region: "GB"}, "ja-JP", []Option{OptionRegion}},
	}
	for _, x := range cases {
		m, lost, ok := markets.Pick(c, x.q)
		if m.Code != x.want || ok != (x.want != "") || !slices.Equal(lost, x.lost) {
			t.Errorf("%s: got %q (%t) without %v, want %q without %v", x.name, m.Code, ok, lost, x.want, x.lost)
		}
	}
}

func TestBaseAndRegionOfATag(t *testing.T) {
	cases := []struct{ tag, base, region string }{
		{"zh-Hans", "zh", ""}, {"zh-Hant", "zh", ""}, {"zh-HK", "zh", "HK"}, {"ZH_hant_tw", "zh", "TW"}, {"cmn", "zh", ""},
		{"zh-yue", "yue", ""}, {"pt-BR", "pt", "BR"}, {"pt_PT", "pt", "PT"}, {"nb", "no", ""}, {"nn-NO", "no", "NO"}, {"no", "no", ""},
		{"he", "he", ""}, {"iw", "he", ""}, {"in", "id", ""}, {"id", "id", ""}, {"en-GB", "en", "GB"}, {"EN_gb", "en", "GB"},
		{"sr-Latn", "sr", ""}, {"sh", "sr", ""}, {"es-419", "es", ""}, {"und", "", ""}, {"und-Hant", "", ""}, {"jp", "", ""}, {"", "", ""},
		{"??", "", ""}, {"x-tea", "", ""}, {"tlh", "tlh", ""},
	}
	for _, c := range cases {
		if base, region := Base(c.tag), RegionOf(c.tag); base != c.base || region != c.region {
			t.Errorf("%q is %q of %q, want %q of %q", c.tag, base, region, c.base, c.region)
		}
	}
}

func TestDomainHint(t *testing.T) {
	cases := []struct {
		name             string
		allowed, blocked []string
		limit            int
		want             string
		ok               bool
	}{
		{"none", nil, nil, 100, "tea", true},
		{"one", []string{"a.com"}, nil, 100, "tea site:a.com", true},
		{"two", []string{"a.com", "b.com/x"}, nil, 100, "tea (site:a.com OR site:b.com/x)", true},
		{"blocked", nil, []string{"a.com", "b.com"}, 100, "tea -site:a.com -site:b.com", true},
		{"at the limit", []string{"a.com"}, nil, 14, "tea site:a.com", true},
		{"too long", []string{"a.com"}, nil, 13, "tea", false},
	}
	for _, c := range cases {
		got, ok := WithDomainHint(Query{Text: "tea", AllowedDomains: c.allowed, BlockedDomains: c.blocked}, c.limit)
		if got != c.want || ok != c.ok {
			t.Errorf("%s: got %q (%t), want %q (%t)", c.name, got, ok, c.want, c.ok)
		}
	}
}
