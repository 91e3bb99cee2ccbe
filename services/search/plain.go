package search

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/cleanse"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/domains"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
)

// Bounds of what a page can put into a line.
const (
	maxLineRunes  = 1001 // a snippet, and the mark that it was cut
	maxQuoteRunes = MaxQueryRunes
)

// plain is a page whose texts are text and nothing else, whatever an engine put
// there: a line is one line, nothing in it is invisible or turns the direction of
// what follows, and nothing imitates the markup of a chat. Rows whose address is
// none of the web are left out. It tells what was cleansed in the others.
func plain(p adapter.Page) (adapter.Page, cleanse.Report) {
	var done cleanse.Report
	text := func(s string) string {
		s, r := cleanse.Text(s)
		done = done.Add(r)
		return s
	}
	line := func(s string) string { return text(folded(s)) }
	p.AlteredQuery = clip(line(p.AlteredQuery), maxQuoteRunes)
	p.SearchedQuery = clip(line(p.SearchedQuery), maxQuoteRunes)
	rows := make([]adapter.Result, 0, len(p.Results))
	for _, r := range p.Results {
		address, ok := webAddress(r.URL)
		if !ok {
			continue
		}
		r.URL, r.Title, r.Snippet, r.SiteName = address, line(r.Title), line(r.Snippet), line(r.SiteName)
		if r.Title == "" { // nothing in it could be seen
			r.Title = address
		}
		if adapter.Base(r.Language) == "" {
			r.Language = ""
		}
		r.Passages = append([]adapter.Passage(nil), r.Passages...)
		for i, one := range r.Passages {
			r.Passages[i].Text = text(lineBreaks.Replace(one.Text))
		}
		rows = append(rows, r)
	}
	p.Results = rows
	return p, done
}

// told is a detail that tells what was cleansed, too.
func told(detail string, done cleanse.Report) string {
	all := done.Warnings()
	if detail != "" {
		all = append([]string{detail}, all...)
	}
	return strings.Join(all, "; ")
}

// lineBreaks makes one of the ways to break a line.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// line is a text as one harmless line.
func line(s string) string {
	text, _ := cleanse.Text(folded(s))
	return text
}

// folded is a text as one line.
func folded(s string) string { return adapter.CleanText(clip(s, maxLineRunes)) }

func clip(s string, runes int) string {
	if utf8.RuneCountInString(s) <= runes {
		return s
	}
	return string([]rune(s)[:runes-1]) + "…"
}

// webAddress is an address as it may be shown: of the web, without a name or a
// password before the host, which is there to look like one, and with what nobody
// sees, or what ends an address early, as an escape. It is false for one whose
// host cannot be.
func webAddress(raw string) (string, bool) {
	var b strings.Builder
	for _, r := range strings.TrimSpace(raw) {
		if strings.ContainsRune("<>\"`\\^{|}", r) || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			b.WriteString(url.PathEscape(string(r)))
			continue
		}
		b.WriteRune(r)
	}
	address, _ := cleanse.Address(b.String())
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", false
	}
	host, err := domains.ParseHost(u.Hostname())
	if err != nil {
		return "", false
	}
	unseen := strings.ContainsFunc(u.Host, func(r rune) bool { return !unicode.IsPrint(r) })
	if u.User == nil && !unseen {
		return address, true
	}
	port := u.Port()
	if u.User = nil; unseen {
		u.Host = host.String()
		if port != "" {
			u.Host += ":" + port
		}
	}
	return u.String(), true
}
