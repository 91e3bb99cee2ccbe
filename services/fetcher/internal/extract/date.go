package extract

import (
	"strings"
	"time"
)

// dateForms are the ways in which pages write dates. Forms that mean different
// days in different countries (05/06/2026) are left as they are.
var dateForms = []struct {
	layout string
	as     string
}{
	{"2006-01-02T15:04:05Z07:00", time.RFC3339}, {"2006-01-02T15:04:05Z0700", time.RFC3339}, {"2006-01-02T15:04:05Z07", time.RFC3339},
	{"2006-01-02T15:04Z07:00", time.RFC3339}, {"2006-01-02T15:04Z0700", time.RFC3339},
	{"2006-01-02 15:04:05Z07:00", time.RFC3339}, {"2006-01-02 15:04:05 Z07:00", time.RFC3339},
	{"2006-01-02 15:04:05Z0700", time.RFC3339}, {"2006-01-02 15:04:05 Z0700", time.RFC3339}, {"2006-01-02 15:04:05 UTC", time.RFC3339},
	{"Mon, 2 Jan 2006 15:04:05 Z0700", time.RFC3339}, {"Mon, 2 Jan 2006 15:04:05 GMT", time.RFC3339}, {"Mon, 2 Jan 2006 15:04:05 UTC", time.RFC3339},
	{"2006-01-02T15:04:05", zoneless}, {"2006-01-02T15:04", zoneless}, {"2006-01-02 15:04:05", zoneless}, {"2006-01-02 15:04", zoneless},
	{"2006/1/2 15:04:05", zoneless}, {"2006/1/2 15:04", zoneless}, {"2006年1月2日 15:04", zoneless}, {"2006年1月2日 15:04:05", zoneless},
	{"2006-1-2", time.DateOnly}, {"2006/1/2", time.DateOnly}, {"2006年1月2日", time.DateOnly}, {"20060102", time.DateOnly},
	{"January 2, 2006", time.DateOnly}, {"Jan 2, 2006", time.DateOnly}, {"Jan. 2, 2006", time.DateOnly},
	{"2 January 2006", time.DateOnly}, {"2 Jan 2006", time.DateOnly}, {"Monday, January 2, 2006", time.DateOnly}, {"Monday, 2 January 2006", time.DateOnly},
}

// zoneless is a time of which nobody says where it is: no zone is made up.
const zoneless = "2006-01-02T15:04:05"

// maxDate is the longest text that is tried as a date, in bytes.
const maxDate = 64

// date writes a date as RFC 3339 does: with its own zone, without one where it
// names none, as a day alone where it has no time. What cannot be read stays as
// it is.
func date(written string) string {
	s := strings.Join(strings.Fields(written), " ")
	if s == "" || len(s) > maxDate {
		return written
	}
	for _, f := range dateForms {
		if t, err := time.Parse(f.layout, s); err == nil && t.Year() >= 1 {
			return t.Format(f.as)
		}
	}
	return written
}
