package spelling

import "testing"

func TestNearest(t *testing.T) {
	words := []string{"chat", "config", "fetch", "search", "serve", "token", "tools", "crawler.max_workers"}
	for word, want := range map[string]string{
		"serach": "search", "conf": "config", "tols": "tools", "crawler.maxworker": "crawler.max_workers",
		"crawl": "crawler.max_workers", "crowd": "", "x": "", "": "", "fetch_page": "",
	} {
		if got := Nearest(word, words); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
	if words[0] != "chat" || words[1] != "config" {
		t.Errorf("the candidates were put into another order: %q", words)
	}
}

func TestDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "abd", 1}, {"abc", "ab", 1}, {"kitten", "sitting", 3},
		{"ab", "ba", 1}, {"abcd", "badc", 2}, {"abc", "xabc", 1}} {
		if got := Distance(tc.a, tc.b); got != tc.want || Distance(tc.b, tc.a) != got {
			t.Errorf("%q to %q: %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}
