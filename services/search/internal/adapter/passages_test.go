package adapter

import (
	"strings"
	"testing"
)

func TestPassagesAreCutToTheirBudgetAndSaySo(t *testing.T) {
	prose := func(n int) Passage { return Passage{Text: strings.TrimSpace(strings.Repeat("tea ", n)), Kind: Prose} }
	data := Passage{Text: `{"a":"` + strings.Repeat("x", 200) + `"}`, Kind: JSON}
	results := func(groups ...[]Passage) []Result {
		var out []Result
		for _, g := range groups {
			out = append(out, Result{Passages: g})
		}
		return out
	}
	cases := []struct {
		name          string
		in            []Result
		budget        int
		kept, changed int
		cut           bool
	}{
		{"no budget", results([]Passage{prose(1000)}), 0, 1, 0, false},
		{"what fits stays", results([]Passage{prose(20)}, []Passage{prose(20)}), 40, 2, 0, false},
		{"the last ones go first", results([]Passage{prose(20), prose(20)}, []Passage{prose(20)}), 40, 2, 1, false},
		{"a long one is cut", results([]Passage{prose(20), prose(100)}), 60, 2, 1, true},
		{"a scrap is not worth it", results([]Passage{prose(20), prose(100)}), 25, 1, 1, false},
		{"data is never cut", results([]Passage{data, prose(20)}), 30, 1, 1, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			changed := FitPassages(c.in, c.budget)
			kept, total, cut := 0, 0, false
			for _, r := range c.in {
				for _, p := range r.Passages {
					kept++
					total += tokens(p.Text)
					cut = cut || p.Cut
				}
			}
			if kept != c.kept || changed != c.changed || cut != c.cut || c.budget > 0 && total > c.budget {
				t.Errorf("%d kept with %d tokens, %d changed, cut %t", kept, total, changed, cut)
			}
		})
	}
}

func TestTokensErrOnTheHighSide(t *testing.T) {
	for text, want := range map[string]int{"": 0, "tea": 1, "The host cleans the bowl.": 7, "龙井茶": 3, "чай": 3} {
		if got := tokens(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestTextsArePlain(t *testing.T) {
	for in, want := range map[string]string{
		"All about <strong>tea</strong> &amp; more": "All about tea & more", "x < y and <y>": "x < y and <y>",
		`<span class="hl">tea</span>`: "tea", "It&#x27;s": "It's", "a\u200bb\n c": "a b c",
		"\u200eJan 2, 2025\u200e · \u200ftea": "Jan 2, 2025 · tea", "\ufefftea\u2060pot": "teapot", "\u200f": "",
		"שלום\u200f (C++\u200e)": "שלום\u200f (C++\u200e)", "العربية\u200e\n(C++)": "العربية\u200e (C++)",
	} {
		if got := PlainText(in); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
	if got := CleanLines(" a  b \r\n\r\n\n\n c\n d "); got != "a b\n\nc\nd" {
		t.Errorf("lines %q", got)
	}
}

func FuzzFitPassages(f *testing.F) {
	f.Add("tea", "龙井茶 и чай", 5)
	f.Fuzz(func(t *testing.T, a, b string, budget int) {
		in := []Result{{Passages: []Passage{{Text: a, Kind: Prose}, {Text: b, Kind: JSON}}}, {Passages: []Passage{{Text: b, Kind: Prose}}}}
		FitPassages(in, budget)
		total := 0
		for _, r := range in {
			for _, p := range r.Passages {
				total += tokens(p.Text)
			}
		}
		if budget > 0 && total > budget {
			t.Fatalf("%d tokens for a budget of %d", total, budget)
		}
	})
}
