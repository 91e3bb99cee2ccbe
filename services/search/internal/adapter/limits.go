package adapter

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Limits is what an engine says about its allowance, one item a window. Brave
// counts by second and by month at once.
type Limits []Limit

// Limit is the allowance of one window.
type Limit struct {
	// Name is what is counted where it is not requests, such as "tokens".
	Name string `json:",omitempty"`
	// Limit is how many calls a window has; 0 when not told.
	Limit int
	// Remaining is how many are left in this one; less than 0 when not told.
	Remaining int
	// Period is how long a window is; 0 when not told.
	Period time.Duration
	// ResetAfter is how long this window still lasts; 0 when not told.
	ResetAfter time.Duration
}

// longWindow is from when on a used-up window is an allowance that was bought
// rather than a pace that was too fast.
const longWindow = 24 * time.Hour

// Exhausted gives the used-up window that lasts longest, if there is one.
func (l Limits) Exhausted() (Limit, bool) {
	var longest Limit
	found := false
	for _, w := range l {
		if w.Remaining == 0 && (!found || w.ResetAfter > longest.ResetAfter) {
			longest, found = w, true
		}
	}
	return longest, found
}

// Quota reports whether a used-up window is an allowance of a day or more.
func (w Limit) Quota() bool {
	return w.Period >= longWindow || w.Period == 0 && w.ResetAfter >= longWindow
}

// maxReset bounds what an engine may say: more is taken for a mistake.
const maxReset = 400 * longWindow

// ReadLimits reads the rate headers that are in use: X-RateLimit-*, whose
// values may be lists with an item a window and whose Policy tells the periods;
// RateLimit-* of the IETF's draft; and those of Anthropic, one set for each thing
// counted. now serves resets that are points in time; with a zero now they are
// left out.
func ReadLimits(h http.Header, now time.Time) Limits {
	for _, prefix := range []string{"X-RateLimit-", "RateLimit-"} {
		if l := listed(h, prefix, now); len(l) > 0 {
			return l
		}
	}
	var out Limits
	for _, name := range []string{"requests", "tokens", "input-tokens", "output-tokens"} {
		for _, w := range listed(h, "Anthropic-Ratelimit-"+name+"-", now) {
			if name != "requests" {
				w.Name = name
			}
			out = append(out, w)
		}
	}
	return out
}

func listed(h http.Header, prefix string, now time.Time) Limits {
	limits, remaining := items(h, prefix+"Limit"), items(h, prefix+"Remaining")
	resets, policies := items(h, prefix+"Reset"), items(h, prefix+"Policy")
	var out Limits
	for i := range max(len(limits), len(remaining)) {
		w := Limit{Remaining: -1}
		known := false
		if n, ok := number(at(limits, i)); ok {
			w.Limit, known = n, true
		}
		if n, ok := number(at(remaining, i)); ok {
			w.Remaining, known = n, true
		}
		if !known {
			continue
		}
		w.ResetAfter = reset(at(resets, i), now)
		w.Period = period(at(policies, i))
		out = append(out, w)
	}
	return out
}

func items(h http.Header, name string) []string {
	joined := strings.Join(h.Values(name), ",")
	if joined == "" {
		return nil
	}
	list := strings.Split(joined, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

func number(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0
}

// period reads "15000;w=2592000".
func period(policy string) time.Duration {
	for part := range strings.SplitSeq(policy, ";") {
		if v, ok := strings.CutPrefix(strings.TrimSpace(part), "w="); ok {
			if n, ok := number(v); ok && time.Duration(n) <= maxReset/time.Second {
				return time.Duration(n) * time.Second
			}
		}
	}
	return 0
}

// epoch is the number of seconds from which on a reset is a point in time.
const epoch = 1_000_000_000

// reset reads seconds from now, seconds since 1970, or RFC 3339.
func reset(v string, now time.Time) time.Duration {
	var d time.Duration
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		switch {
		case s >= 0 && s <= maxReset.Seconds():
			d = time.Duration(s * float64(time.Second))
		case s >= epoch && s < 100*epoch && !now.IsZero():
			d = time.Unix(int64(s), 0).Sub(now)
		}
	} else if t, err := time.Parse(time.RFC3339, v); err == nil && !now.IsZero() {
		d = t.Sub(now)
	}
	if d < 0 || d > maxReset {
		return 0
	}
	return d
}
