package robots

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"time"
)

const (
	// MaxBytes is how much of a robots.txt is read: 500 KiB, the least that RFC
	// 9309 section 2.5 asks for.
	MaxBytes = 500 << 10
	// maxDelay keeps absurd crawl-delays from overflowing.
	maxDelay = 24 * time.Hour
)

// Parse reads what a robots.txt says to the crawler with a product token. Groups
// that name the token are taken together; without any, those of "*" hold. What
// cannot be read is passed over. found is false when the file has no line that
// means anything: a page of HTML in place of a robots.txt.
func Parse(body []byte, product string) (rules Rules, found bool) {
	p := parser{product: product}
	if len(body) > MaxBytes {
		// The line that the limit cuts would say something else than it does.
		body = body[:bytes.LastIndexAny(body[:MaxBytes+1], "\r\n")+1]
	}
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	for len(body) > 0 {
		line := body
		if i := bytes.IndexAny(body, "\r\n"); i >= 0 {
			line, body = body[:i], body[i+1:]
		} else {
			body = nil
		}
		line, _, _ = bytes.Cut(line, []byte("#"))
		if key, value, ok := bytes.Cut(line, []byte(":")); ok {
			p.line(strings.ToLower(trim(key)), trim(value))
		}
	}
	if p.named {
		return p.own, p.found
	}
	return p.all, p.found
}

func trim(b []byte) string { return string(bytes.Trim(b, " \t\v\f")) }

// parser is where one reading of a file stands.
type parser struct {
	product  string
	own, all Rules // of groups that name the product, and of "*"
	named    bool  // some group names the product
	found    bool

	// header and delays are whom the lines to come are for. A rule ends the list
	// of user agents that began its group, and nothing else does: other records
	// must not interfere (RFC 9309 section 2.2.4). A crawl-delay ends the list
	// only for crawl-delays, so that groups that have nothing else keep theirs.
	header, delays audience
}

// audience are the user agents of a group, as far as they matter here.
type audience struct {
	own, all bool
	ended    bool // the next user agent begins another group
}

func (a *audience) add(own, all bool) {
	if a.ended {
		*a = audience{}
	}
	a.own, a.all = a.own || own, a.all || all
}

func (p *parser) line(key, value string) {
	switch key {
	case "user-agent":
		own := strings.EqualFold(token(value), p.product)
		all := value == "*" || strings.HasPrefix(value, "* ") || strings.HasPrefix(value, "*\t")
		p.header.add(own, all)
		p.delays.add(own, all)
		p.named = p.named || own
	case "allow", "disallow":
		p.header.ended, p.delays.ended = true, true
		if value != "" { // an empty one says nothing
			p.add(Rule{Allow: key == "allow", Pattern: pattern(value)})
		}
	case "crawl-delay":
		p.delays.ended = true
		p.delay(value)
	case "sitemap":
	default:
		return
	}
	p.found = true
}

func (p *parser) add(r Rule) {
	if p.header.own {
		p.own.List = append(p.own.List, r)
	}
	if p.header.all {
		p.all.List = append(p.all.List, r)
	}
}

// delay keeps the longest of what a crawler's groups say.
func (p *parser) delay(value string) {
	if strings.Trim(value, "0123456789.") != "" {
		return // no sign, no exponent, no unit
	}
	seconds, err := strconv.ParseFloat(value, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // a number too large is infinity
		return
	}
	d := time.Duration(min(seconds, maxDelay.Seconds()) * float64(time.Second))
	if p.delays.own {
		p.own.Delay = max(p.own.Delay, d)
	}
	if p.delays.all {
		p.all.Delay = max(p.all.Delay, d)
	}
}

// pattern is the value of a rule in normal form.
func pattern(value string) string {
	value = normal(value, true)
	for strings.Contains(value, "**") {
		value = strings.ReplaceAll(value, "**", "*")
	}
	return value
}

// token is the product token that a text begins with (RFC 9309 section 2.2.1):
// letters, "_" and "-".
func token(s string) string {
	for i, c := range []byte(s) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '-') {
			return s[:i]
		}
	}
	return s
}

// defaultProduct is who we are to a robots.txt when the user agent does not say.
const defaultProduct = "NanoClaw"

// Product is the product token of a User-Agent header: the first one, or where
// that is a browser's, the one behind "compatible;".
func Product(userAgent string) string {
	if _, rest, found := strings.Cut(userAgent, "compatible;"); found {
		if t := token(strings.TrimSpace(rest)); t != "" {
			return t
		}
	}
	if t := token(userAgent); t != "" && t != "Mozilla" {
		return t
	}
	return defaultProduct
}
