package pubdate

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// named is a day with the name of its month in a language of months below:
// "12. Juli 2025", "1er août 2025", "12 de julio de 2025", "12 lug 2025".
var named = regexp.MustCompile(`^(\d{1,2})(?:\.|er|º|°)? ?(?:de |di )?([\p{L}\p{M}]{3,11})\.?,? (?:de |del )?(\d{4})$`)

// months are the names of months, whole and as they are cut short, in German,
// French, Spanish, Italian, Portuguese and Dutch. Where two languages share a name
// it is that of the same month.
var months = monthsOf(
	"januar jänner jan janvier janv enero ene gennaio gen janeiro januari",
	"februar feber feb février fevrier févr fevr fév fev febrero febbraio fevereiro februari",
	"märz maerz mär mrz mars marzo mar março maart mrt",
	"april apr avril avr abril abr aprile",
	"mai mayo may maggio mag maio mei",
	"juni jun juin junio giugno giu junho",
	"juli jul juillet juil julio luglio lug julho",
	"august aug août aout agosto ago augustus",
	"september sep sept septembre septiembre settembre set sett setembro",
	"oktober okt octobre oct octubre ottobre ott outubro out",
	"november nov novembre noviembre novembro",
	"dezember dez décembre decembre déc dec diciembre dic dicembre dezembro december",
)

func monthsOf(names ...string) map[string]time.Month {
	m := map[string]time.Month{}
	for i, list := range names {
		for name := range strings.FieldsSeq(list) {
			m[name] = time.Month(i + 1)
		}
	}
	return m
}

// parseNamed reads a day with the name of its month; false for a day that there
// cannot be.
func parseNamed(date string) (time.Time, bool) {
	m := named.FindStringSubmatch(strings.ToLower(date))
	if m == nil || months[m[2]] == 0 {
		return time.Time{}, false
	}
	d, _ := strconv.Atoi(m[1])
	y, _ := strconv.Atoi(m[3])
	t := time.Date(y, months[m[2]], d, 0, 0, 0, 0, time.UTC)
	return t, t.Day() == d
}
