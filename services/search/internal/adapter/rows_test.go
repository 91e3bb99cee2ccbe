package adapter

import (
	"testing"

	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

func TestRowsLeftOutAreTold(t *testing.T) {
	cases := []struct {
		name                string
		good, broken, other int
		altered             string
		want                outcome.Code
		detail              string
		rows                int
	}{
		{"all understood", 3, 0, 0, "", outcome.OK, "", 3},
		{"for another query", 3, 0, 0, "teas", outcome.OKAlteredQuery, "", 3},
		{"some not", 7, 3, 0, "", outcome.OK, "rows left out: 3 without title or address", 7},
		{"too many not", 6, 4, 0, "", outcome.LayoutUnrecognised, "rows without title or address", 0},
		{"none", 0, 4, 0, "", outcome.LayoutUnrecognised, "rows without title or address", 0},
		{"none there", 0, 0, 0, "", outcome.LayoutUnrecognised, "no rows and no word that there are none", 0},
		{"others beside them", 1, 0, 5, "", outcome.OK, "rows left out: 5 of another kind", 1},
		{"others alone", 0, 0, 5, "", outcome.LayoutUnrecognised, "rows of other kinds alone", 0},
		{"of both sorts", 9, 1, 2, "teas", outcome.OKAlteredQuery, "rows left out: 1 without title or address, 2 of another kind", 9},
		{"more than anybody reads", 100_000, 1, 0, "", outcome.OK, "rows left out: 1 without title or address, 99500 beyond 500", 500},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var rows Rows
			for range c.good {
				rows.Add(Result{Title: "Tea", URL: "https://tea.example/"})
			}
			for range c.broken {
				rows.Add(Result{Title: "Tea"})
			}
			for range c.other {
				rows.Skip()
			}
			p, o := rows.Page(c.altered)
			if o.Code != c.want || o.Detail != c.detail || len(p.Results) != c.rows {
				t.Errorf("%s (%s) with %d rows", o.Code, o.Detail, len(p.Results))
			}
		})
	}
}
