package adapter

import "testing"

func TestAddressesOfTheWeb(t *testing.T) {
	for raw, want := range map[string]string{
		"https://tea.example/a?b=c#d":      "https://tea.example/a?b=c#d",
		" HTTP://Tea.Example/ \n":          "http://Tea.Example/",
		"https://tea.example/a b":          "https://tea.example/a%20b",
		"https://a_b.example:8080/":        "https://a_b.example:8080/",
		"https://[2001:db8::1]/":           "https://[2001:db8::1]/",
		"https://tea.example./":            "https://tea.example./",
		"https://例え.jp/路?q=茶":              "https://xn--r8jz45g.jp/%E8%B7%AF?q=茶",
		"https://例え.jp:8080/":              "https://xn--r8jz45g.jp:8080/",
		"https://tea。example/":             "https://tea.example/",
		"":                                 "",
		"tea.example/a":                    "",
		"//tea.example/":                   "",
		"/url?q=https://tea.example/":      "",
		"ftp://tea.example/":               "",
		"javascript:alert(1)":              "",
		"data:text/html,tea":               "",
		"view-source:https://tea.example/": "",
		"https:///a":                       "",
		"https://":                         "",
		"https://tea example/":             "",
		"https://.example/":                "",
		"https://tea..example/":            "",
		"https://xn--a.example/":           "",
		"https://127.1/":                   "",
		"https://tea.example\\@b.example/": "",
		"https://tea.example/%zz":          "",
		"https://tea.example/\x00":         "",
		"https://[fe80::1%25eth0]/":        "",
	} {
		if got := WebAddress(raw); got != want {
			t.Errorf("%q became %q, want %q", raw, got, want)
		}
	}
}
