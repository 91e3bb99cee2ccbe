// Package pubdate reads the dates that engines print before a snippet.
package pubdate

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// days are the forms of a day seen on result pages and in answers of APIs. Forms
// that mean different days in different countries (05/06/2025) are left unread.
var days = []string{
	"Jan 2, 2006", "January 2, 2006", "2 Jan 2006", "2 January 2006",
	"Monday, January 2, 2006", "Mon, 2 Jan 2006", "2006年1月2日", "2.1.2006", "2006-1-2", "2006/1/2", "2006.1.2",
}

// clock is a time of day behind a day, and its zone where there is one. Names of
// zones but those of UTC mean different zones in different countries.
var clock = regexp.MustCompile(`^(.*?)(?:T|,? ?)(\d{1,2}:\d{2})(:\d{2}(?:\.\d+)?)?(?: ?(?:(Z|UTC|GMT)|([+-]\d{2}):?(\d{2})|[AP]M|[A-Z]{3,4}))?$`)

// ages are distances from now, each with a number and a unit: "3 days ago", "1 天前",
// "2 小时之前", "vor 3 Tagen", "il y a 2 heures".
var ages = []*regexp.Regexp{
	regexp.MustCompile(`^(\d{1,3}) ?(minutes?|mins?|hours?|days?|weeks?|months?|years?|分钟|小时|天|周|个月|年) ?(?:ago|之?前)$`),
	regexp.MustCompile(`^vor (\d{1,3}) (minuten?|stunden?|tag|tagen|wochen?|monat|monaten|jahr|jahren)$`),
	regexp.MustCompile(`^(?:il y a|hace|há) (\d{1,3}) (minutes?|heures?|jours?|semaines?|mois|ans?|minutos?|horas?|días?|dias?|semanas?|mes|meses|mês|años?|anos?)$`),
	regexp.MustCompile(`^(\d{1,3}) (minuti|minuto|ore|ora|giorni|giorno|settimane|settimana|mesi|mese|anni|anno) fa$`),
}

func findAge(printed string) []string {
	printed = strings.ToLower(printed)
	for _, form := range ages {
		if m := form.FindStringSubmatch(printed); m != nil {
			return m
		}
	}
	return nil
}

// daysAgo are words for days near today.
var daysAgo = map[string]int{
	"today": 0, "heute": 0, "aujourd'hui": 0, "hoy": 0, "今天": 0,
	"yesterday": 1, "gestern": 1, "hier": 1, "ayer": 1, "昨天": 1,
	"vorgestern": 2, "avant-hier": 2, "anteayer": 2, "前天": 2,
}

// units are known by how they begin.
var units = []struct {
	name   string
	length time.Duration
}{
	{"min", time.Minute}, {"分钟", time.Minute},
	{"hour", time.Hour}, {"小时", time.Hour}, {"stunde", time.Hour}, {"heure", time.Hour}, {"hora", time.Hour}, {"or", time.Hour},
	{"day", day}, {"天", day}, {"tag", day}, {"jour", day}, {"día", day}, {"dia", day}, {"giorn", day},
	{"week", 7 * day}, {"周", 7 * day}, {"woche", 7 * day}, {"semain", 7 * day}, {"seman", 7 * day}, {"settiman", 7 * day},
	{"month", 30 * day}, {"个月", 30 * day}, {"monat", 30 * day}, {"mois", 30 * day}, {"mes", 30 * day}, {"mês", 30 * day},
	{"year", 365 * day}, {"年", 365 * day}, {"jahr", 365 * day}, {"an", 365 * day}, {"añ", 365 * day},
}

func lengthOf(unit string) time.Duration {
	for _, u := range units {
		if strings.HasPrefix(unit, u.name) {
			return u.length
		}
	}
	return 0
}

const day = 24 * time.Hour

// Parse turns a printed date into RFC 3339 in UTC, or "" when it cannot be
// read. A day becomes its midnight, with or without a time of day whose zone is
// not told: nobody knows which moment that is. Words and ages count from now and
// are left unread when now is zero; ages of a day or more are rounded to the day.
func Parse(printed string, now time.Time) string {
	printed = strings.TrimSpace(printed)
	if t, ok := parseAge(printed, now); ok {
		return format(t)
	}
	date, ofDay, zone, ok := splitClock(printed)
	if !ok {
		return ""
	}
	t, ok := parseDay(date, now)
	if !ok {
		return ""
	}
	if zone != nil {
		t = time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, zone).Add(ofDay)
	}
	return format(t)
}

// parseDay reads a day, as midnight in UTC.
func parseDay(date string, now time.Time) (time.Time, bool) {
	for _, l := range days {
		if t, err := time.Parse(l, date); err == nil {
			return t, true
		}
	}
	if t, ok := parseNamed(date); ok {
		return t, true
	}
	n, ok := daysAgo[strings.ToLower(date)]
	return now.UTC().AddDate(0, 0, -n).Truncate(day), ok && !now.IsZero()
}

// splitClock takes the time of day off a date. The zone is nil when it is not
// told; ok is false for a time that cannot be.
func splitClock(printed string) (date string, ofDay time.Duration, zone *time.Location, ok bool) {
	m := clock.FindStringSubmatch(printed)
	if m == nil {
		return printed, 0, nil, true
	}
	t, err := time.Parse("15:04:05", m[2]+(m[3] + ":00")[:3])
	if err != nil {
		return "", 0, nil, false
	}
	switch {
	case m[4] != "":
		zone = time.UTC
	case m[5] != "":
		east, err := time.ParseDuration(m[5] + "h" + m[6] + "m")
		if err != nil || east.Abs() >= day {
			return "", 0, nil, false
		}
		zone = time.FixedZone("", int(east.Seconds()))
	}
	return m[1], t.Sub(t.Truncate(day)), zone, true
}

// parseAge reads a distance from now.
func parseAge(printed string, now time.Time) (time.Time, bool) {
	m := findAge(printed)
	if m == nil || now.IsZero() {
		return time.Time{}, false
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return time.Time{}, false
	}
	unit := lengthOf(m[2])
	t := now.UTC().Add(-time.Duration(n) * unit)
	if unit >= day {
		t = t.Truncate(day)
	}
	return t, true
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
// was. A word is no prefix: "Yesterday · The Beatles" is a song.
func SplitPrefix(snippet string, now time.Time) (date, rest string) {
	head, tail, ok := strings.Cut(snippet, "·")
	head = strings.TrimSpace(head)
	if !ok || utf8.RuneCountInString(head) > maxPrefixRunes || !strings.ContainsAny(head, "0123456789") {
		return "", snippet
	}
	date = Parse(head, now)
	if date == "" && findAge(head) == nil {
		return "", snippet
	}
	return date, strings.TrimSpace(tail)
}
