package correction

import (
	"cmp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
)

// plain reads a query that does not stand out: what is in quotes after the words,
// else the rest of the sentence.
func plain(t text, marks []mark, asked string) string {
	for i, m := range marks {
		if m.role != searched {
			continue
		}
		end := len(t.text)
		for _, next := range marks[i+1:] {
			if next.start >= m.end {
				end = min(end, next.start)
			}
			if next.end == m.end && next.role == refused {
				end = m.end
			}
		}
		rest := strings.TrimLeft(t.text[m.end:end], " :：")
		q, closed := inQuotes(rest)
		if !closed {
			q = sentence(rest)
		}
		if q = other(asked, q); q != "" {
			return q
		}
	}
	return ""
}

// quotes are the pairs that engines use.
var quotes = map[string]string{`"`: `"`, "“": "”", "„": "“", "«": "»", "「": "」", "『": "』", "‘": "’"}

// inQuotes is the quotation, with its marks, that s begins with.
func inQuotes(s string) (string, bool) {
	for open, shut := range quotes {
		if rest, ok := strings.CutPrefix(s, open); ok {
			inside, _, closed := strings.Cut(rest, shut)
			return open + inside + shut, closed
		}
	}
	return "", false
}

// other is a query as a page shows it, without the quotes around it; "" when it
// is the one asked.
func other(asked, shown string) string {
	shown = adapter.CleanText(shown)
	if shown == "" || Same(asked, shown) {
		return ""
	}
	return adapter.CleanText(trimQuotes(shown))
}

// sentence is s up to the end of its sentence.
func sentence(s string) string {
	end := len(s)
	for _, mark := range []string{". ", "。", "，", "？", "? ", "(", "（", "的搜索结果", "的结果"} {
		if i := strings.Index(s, mark); i >= 0 {
			end = min(end, i)
		}
	}
	return strings.TrimRight(s[:end], " .?:")
}

// trimQuotes takes off one pair of quotes around a query.
func trimQuotes(q string) string {
	for open, shut := range quotes {
		if rest, ok := strings.CutPrefix(q, open); ok {
			if inside, ok := strings.CutSuffix(rest, shut); ok && !strings.Contains(inside, open) {
				return inside
			}
		}
	}
	return q
}

// Same reports whether a query that a page shows is the one asked, whatever its
// case, its width, its blanks and what nobody sees in it. A page may put quotes around the query asked;
// one that shows it without the quotes it had searched for something else.
func Same(asked, shown string) bool {
	a, s := normal(asked), normal(shown)
	if a == s {
		return true
	}
	bare := unquoted(s)
	return bare != s && bare == unquoted(a)
}

// straight writes quotes of every kind alike.
var straight = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "«", `"`, "»", `"`, "「", `"`, "」", `"`, "『", `"`, "』", `"`)

// normal is a query without what makes no difference: its operators for sites,
// which are the filter's, and the plus signs that engines put before words that
// are meant as they stand.
func normal(q string) string {
	var kept []string
	for _, w := range strings.Fields(straight.Replace(strings.ToLower(norm.NFKC.String(strings.Map(seen, adapter.CleanText(q)))))) {
		bare := strings.Trim(w, "()-")
		if strings.HasPrefix(bare, "site:") || bare == "or" && strings.Contains(q, "site:") {
			continue
		}
		if rest := strings.TrimPrefix(w, "+"); rest != "" && unicode.IsLetter(firstRune(rest)) {
			w = rest
		}
		kept = append(kept, w)
	}
	return cmp.Or(strings.Join(kept, " "), q)
}

// seen leaves out joiners and marks of direction.
func seen(r rune) rune {
	if unicode.Is(unicode.Cf, r) {
		return -1
	}
	return r
}

func firstRune(s string) rune {
	for _, r := range s {
		return r
	}
	return 0
}

func unquoted(q string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(q, `"`, " ")), " ")
}
