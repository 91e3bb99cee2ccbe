package pubdate

import (
	"strings"
	"testing"
	"time"
)

var now = time.Date(2025, 12, 1, 12, 30, 0, 0, time.UTC)

func TestParse(t *testing.T) {
	cases := map[string]string{
		"Jul 12, 2025": "2025-07-12T00:00:00Z", "July 12, 2025": "2025-07-12T00:00:00Z", "12 Jul 2025": "2025-07-12T00:00:00Z",
		"2025年5月25日": "2025-05-25T00:00:00Z", "18.03.2013": "2013-03-18T00:00:00Z", "2025-3-1": "2025-03-01T00:00:00Z",
		"2025.01.15": "2025-01-15T00:00:00Z", "2025/1/15": "2025-01-15T00:00:00Z", "Wednesday, January 15, 2025": "2025-01-15T00:00:00Z",
		"3 days ago": "2025-11-28T00:00:00Z", "1 day ago": "2025-11-30T00:00:00Z", "1 天前": "2025-11-30T00:00:00Z",
		"2 小时之前": "2025-12-01T10:30:00Z", "5 hours ago": "2025-12-01T07:30:00Z", "1 year ago": "2024-12-01T00:00:00Z",
		"今天": "2025-12-01T00:00:00Z", "昨天": "2025-11-30T00:00:00Z", "前天": "2025-11-29T00:00:00Z", "昨天08:30": "2025-11-30T00:00:00Z",
		"yesterday": "2025-11-30T00:00:00Z", "Gestern": "2025-11-30T00:00:00Z", "Hier": "2025-11-30T00:00:00Z", "Yesterday, 08:30": "2025-11-30T00:00:00Z",
		"": "", "05/06/2025": "", "Feb 30, 2025": "", "0001-1-1": "", "9999 days ago": "", "25 roses": "", "08:30": "", "2025": "",
	}
	for printed, want := range cases {
		if got := Parse(printed, now); got != want {
			t.Errorf("%q gives %q, want %q", printed, got, want)
		}
	}
	for _, printed := range []string{"3 days ago", "yesterday", "昨天 08:30"} {
		if got := Parse(printed, time.Time{}); got != "" {
			t.Errorf("%q without a now gives %q", printed, got)
		}
	}
}

func TestDaysAreReadInTheLanguagesOfMarkets(t *testing.T) {
	cases := map[string]string{
		"12. Juli 2025": "2025-07-12", "12. Juli 2025, 08:30": "2025-07-12", "3. März 2025": "2025-03-03", "1. Jan. 2025": "2025-01-01", "24. Dez. 2024": "2024-12-24", "5. Mai 2025": "2025-05-05",
		"12 juil. 2025": "2025-07-12", "1er août 2025": "2025-08-01", "3 février 2025": "2025-02-03", "14 déc. 2024": "2024-12-14", "9 mars 2025": "2025-03-09",
		"12 de julio de 2025": "2025-07-12", "12 jul 2025": "2025-07-12", "3 ene 2025": "2025-01-03", "24 de septiembre de 2025": "2025-09-24", "5 ago. 2025": "2025-08-05", "12 de julio del 2025": "2025-07-12",
		"12 luglio 2025": "2025-07-12", "12 lug 2025": "2025-07-12", "1º gennaio 2025": "2025-01-01", "3 dic 2024": "2024-12-03", "4 mag 2025": "2025-05-04",
		"12 de jul. de 2025": "2025-07-12", "3 de março de 2025": "2025-03-03", "7 de outubro de 2025": "2025-10-07", "9 de dez. de 2024": "2024-12-09",
		"12 mei 2025": "2025-05-12", "3 maart 2025": "2025-03-03",
		"vor 3 Tagen": "2025-11-28", "vor 1 Tag": "2025-11-30", "vor 2 Wochen": "2025-11-17", "vor 1 Jahr": "2024-12-01", "il y a 3 jours": "2025-11-28", "il y a 1 an": "2024-12-01",
		"hace 3 días": "2025-11-28", "hace 2 semanas": "2025-11-17", "hace 2 meses": "2025-10-02", "há 3 dias": "2025-11-28", "há 1 mês": "2025-11-01", "3 giorni fa": "2025-11-28", "1 anno fa": "2024-12-01",
		"30. Februar 2025": "", "0. Juli 2025": "", "12. Jumi 2025": "", "12 monkeys 2025": "", "12 de 2025": "", "Juli 2025": "", "vor 3 Rosen": "", "hace 3": "", "3 giorni": "",
	}
	for printed, want := range cases {
		if got, _, _ := strings.Cut(Parse(printed, now), "T"); got != want {
			t.Errorf("%q gives %q, want %q", printed, got, want)
		}
	}
	for printed, want := range map[string]string{"vor 2 Stunden": "2025-12-01T10:30:00Z", "il y a 5 minutes": "2025-12-01T12:25:00Z", "hace 1 hora": "2025-12-01T11:30:00Z", "3 ore fa": "2025-12-01T09:30:00Z"} {
		if got := Parse(printed, now); got != want {
			t.Errorf("%q gives %q, want %q", printed, got, want)
		}
	}
}

func TestATimeOfDayCountsWithItsZoneAlone(t *testing.T) {
	cases := map[string]string{
		"2025-07-12T10:00:00+02:00": "2025-07-12T08:00:00Z", "2025-07-12T10:00:00Z": "2025-07-12T10:00:00Z", "2025-07-12T10:00:00.123Z": "2025-07-12T10:00:00Z",
		"2025-01-15T08:30:00+0800": "2025-01-15T00:30:00Z", "2025-01-15T04:30:00+0800": "2025-01-14T20:30:00Z", "2025-01-15 08:30:00 +0800": "2025-01-15T00:30:00Z",
		"2025-01-15T08:30Z": "2025-01-15T08:30:00Z", "2025-01-15 20:30 -0530": "2025-01-16T02:00:00Z",
		"Mon, 01 Dec 2025 08:00:00 GMT": "2025-12-01T08:00:00Z", "Mon, 01 Dec 2025 08:00:00 +0800": "2025-12-01T00:00:00Z",
		"Mon, 01 Dec 2025 08:00:00 IST": "2025-12-01T00:00:00Z", "Jan 15, 2025, 8:30 PM": "2025-01-15T00:00:00Z",
		"2025-01-15 08:30": "2025-01-15T00:00:00Z", "2025-12-01 08:00:00": "2025-12-01T00:00:00Z", "2025-01-15T08:30": "2025-01-15T00:00:00Z",
		"2025.01.15 08:30": "2025-01-15T00:00:00Z", "2025年1月15日 08:30": "2025-01-15T00:00:00Z", "2026-04-14T00:00:00.0000000": "2026-04-14T00:00:00Z",
		"2025-01-15 25:00": "", "2025-01-15 08:61": "", "2025-01-15T08:30+99:00": "", "2025-01-15T08:30:00 and more": "",
	}
	for printed, want := range cases {
		if got := Parse(printed, now); got != want {
			t.Errorf("%q gives %q, want %q", printed, got, want)
		}
	}
}

func TestSplitPrefix(t *testing.T) {
	cases := []struct{ snippet, date, rest string }{
		{"Jul 12, 2025· JavaScript can read", "2025-07-12T00:00:00Z", "JavaScript can read"},
		{"2025年5月25日 · 龙井", "2025-05-25T00:00:00Z", "龙井"},
		{"1 天前 · 龙井", "2025-11-30T00:00:00Z", "龙井"},
		{"12. Juli 2025 · Tee", "2025-07-12T00:00:00Z", "Tee"},
		{"24 de septiembre de 2025 · Té", "2025-09-24T00:00:00Z", "Té"},
		{"vor 3 Tagen · Tee", "2025-11-28T00:00:00Z", "Tee"},
		{"12 monkeys · a film", "", "12 monkeys · a film"},
		{"Tea · coffee · water", "", "Tea · coffee · water"},
		{"Yesterday · The Beatles", "", "Yesterday · The Beatles"},
		{"Heute · Morgen · Wetter", "", "Heute · Morgen · Wetter"},
		{"A long beginning of a sentence that mentions · a dot", "", "A long beginning of a sentence that mentions · a dot"},
		{"", "", ""},
	}
	for _, c := range cases {
		if date, rest := SplitPrefix(c.snippet, now); date != c.date || rest != c.rest {
			t.Errorf("%q gives %q and %q, want %q and %q", c.snippet, date, rest, c.date, c.rest)
		}
	}
	if date, rest := SplitPrefix("3 days ago · Tea", time.Time{}); date != "" || rest != "Tea" {
		t.Errorf("an age without a now gives %q and %q", date, rest)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("3 days ago")
	f.Add("2025年5月25日")
	f.Add("2025-01-15 08:30:00 +0800")
	f.Fuzz(func(t *testing.T, printed string) {
		if got := Parse(printed, now); got != "" {
			if _, err := time.Parse(time.RFC3339, got); err != nil {
				t.Fatal(err)
			}
		}
	})
}
