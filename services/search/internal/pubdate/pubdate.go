// Package pubdate reads the dates that engines print before a snippet.
package pubdate

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// layouts are the absolute forms seen on result pages. Forms that mean
// different days in different countries (05/06/2025) are left unread.
var layouts = []string{
	"Jan 2, 2006", "January 2, 2006", "2 Jan 2006", "2 January 2006",
	"Monday, January 2, 2006", "2006年1月2日", "2.1.2006", "2006-1-2", "2006/1/2",
	time.RFC3339, time.RFC1123, time.RFC1123Z, time.DateTime,
}

// age is a distance from now: "3 days ago", "1 天前", "2 小时之前".
var age = regexp.MustCompile(`^(\d{1,3}) ?(minutes?|mins?|hours?|days?|weeks?|months?|years?|分钟|小时|天|周|个月|年) ?(?:ago|之?前)$`)

// daysAgo are words for days near today.
var daysAgo = map[string]int{"今天": 0, "昨天": 1, "前天": 2}

var units = map[string]time.Duration{
	"minute": time.Minute, "min": time.Minute, "分钟": time.Minute,
	"hour": time.Hour, "小时": time.Hour,
	"day": day, "天": day,
	"week": 7 * day, "周": 7 * day,
	"month": 30 * day, "个月": 30 * day,
	"year": 365 * day, "年": 365 * day,
}

const day = 24 * time.Hour

// Parse turns a printed date into RFC 3339 in UTC, or "" when it cannot be
// read. A day without a time becomes its midnight. Ages count from now and are
// left unread when now is zero; those of a day or more are rounded to the day.
func Parse(printed string, now time.Time) string {
	printed = strings.TrimSpace(printed)
	for _, l := range layouts {
		if t, err := time.Parse(l, printed); err == nil {
			return format(t)
		}
	}
	// DuckDuckGo prints 2026-04-14T00:00:00.0000000, without a zone.
	if t, err := time.Parse("2006-01-02T15:04:05", printed); err == nil {
		return format(t)
	}
	if n, ok := daysAgo[printed]; ok && !now.IsZero() {
		return format(now.UTC().AddDate(0, 0, -n).Truncate(day))
	}
	m := age.FindStringSubmatch(strings.ToLower(printed))
	if m == nil || now.IsZero() {
		return ""
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return ""
	}
	unit := units[strings.TrimSuffix(m[2], "s")]
	t := now.UTC().Add(-time.Duration(n) * unit)
	if unit >= day {
		t = t.Truncate(day)
	}
	return format(t)
}

func format(t time.Time) string {
	// A year beyond four digits or before any web page is a misread number.
	if y := t.Year(); y < 1990 || y > 9999 {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// maxPrefixRunes is how far into a snippet a date prefix may reach.
const maxPrefixRunes = 24

// SplitPrefix takes a date prefix ("Jul 12, 2025 · ", "1 天前 · ") off a
// snippet. Without one, or when it cannot be read, the snippet comes back as it
// was.
func SplitPrefix(snippet string, now time.Time) (date, rest string) {
	head, tail, ok := strings.Cut(snippet, "·")
	if !ok || utf8.RuneCountInString(head) > maxPrefixRunes {
		return "", snippet
	}
	head = strings.TrimSpace(head)
	date = Parse(head, now)
	if date == "" && !age.MatchString(strings.ToLower(head)) {
		return "", snippet
	}
	return date, strings.TrimSpace(tail)
}
