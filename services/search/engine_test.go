package search

import (
	"testing"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

func TestResultsOfAnotherQueryAreSaidToBe(t *testing.T) {
	rows := []adapter.Result{{Title: "The tea ceremony", URL: "https://tea.example/"}}
	cases := []struct {
		name                    string
		engine, searched, query string
		sent                    string
		want                    outcome.Code
		altered                 string
	}{
		{"the query itself", "", "", "tea ceremony", "", outcome.OK, ""},
		{"the engine says another", "tea ceremony", "", "tee ceremny", "", outcome.OKAlteredQuery, "tea ceremony"},
		{"the engine phrased it in other words", "", "Japanese tea ceremony", "tea ceremony", "", outcome.OKAlteredQuery, "Japanese tea ceremony"},
		{"the engine phrased it in the same words", "", "Tea  Ceremony", "tea ceremony", "", outcome.OK, ""},
		{"we sent it short", "", "", "tea ceremony and much else", "tea ceremony", outcome.OKAlteredQuery, "tea ceremony"},
		{"we sent it short and the engine says so", "", "tea ceremony", "tea ceremony and much else", "tea ceremony", outcome.OKAlteredQuery, "tea ceremony"},
		{"rows of neither", "", "running shoes", "best running", "", outcome.DecoySuspected, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			code := outcome.OK
			if c.engine != "" {
				code = outcome.OKAlteredQuery
			}
			p, o := judge(adapter.Capabilities{Decoys: true}, adapter.Page{Results: rows, AlteredQuery: c.engine, SearchedQuery: c.searched, CostUSD: 1}, outcome.Of(code), c.query, c.sent)
			if o.Code != c.want || p.AlteredQuery != c.altered || o.Code.HasResults() != (len(p.Results) > 0) || p.CostUSD != 1 {
				t.Errorf("%s for %q with %d results, want %s for %q", o.Code, p.AlteredQuery, len(p.Results), c.want, c.altered)
			}
		})
	}
}

func TestRowsOfAnEngineThatSearchesByMeaningNeedNoWordOfTheQuery(t *testing.T) {
	rows := []adapter.Result{{Title: "Chanoyu", URL: "https://uji.example/"}}
	for _, decoys := range []bool{true, false} {
		p, o := judge(adapter.Capabilities{Decoys: decoys}, adapter.Page{Results: rows}, outcome.Of(outcome.OK), "japanese ceremony with tea", "")
		if decoyed := o.Code == outcome.DecoySuspected; decoyed != decoys || (len(p.Results) == 1) == decoys {
			t.Errorf("decoys %t: %s with %d results", decoys, o.Code, len(p.Results))
		}
	}
}

func TestEverythingThatIsKnownOfAnAnswerIsTold(t *testing.T) {
	var rows adapter.Rows
	rows.Add(adapter.Result{Title: "green\u00ad tea", URL: "https://tea.example/"})
	for range 5 {
		rows.Add(adapter.Result{Title: "running shoes", URL: "https://shoes.example/"})
	}
	rows.Skip()
	p, o := rows.Page("")
	p, o = judge(adapter.Capabilities{Decoys: true}, p, o, "green tea", "")
	const want = "rows left out: 1 of another kind; invisible: 1 characters that have no shape were left out; rows of other queries left out"
	if o.Code != outcome.OK || len(p.Results) != 1 || o.Detail != want {
		t.Errorf("%v, %d rows", o, len(p.Results))
	}
}
