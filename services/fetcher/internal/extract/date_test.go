package extract

import "testing"

func TestDates(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"one with its zone keeps it", "2026-03-04T05:06:07+08:00", "2026-03-04T05:06:07+08:00"},
		{"a zone without a colon", "2026-03-04T05:06:07+0800", "2026-03-04T05:06:07+08:00"},
		{"fractions of a second go", "2026-03-04T05:06:07.123Z", "2026-03-04T05:06:07Z"},
		{"minutes alone", "2026-03-04T05:06Z", "2026-03-04T05:06:00Z"},
		{"a space for the T", "2026-03-04 05:06:07 +0100", "2026-03-04T05:06:07+01:00"},
		{"a mail's date", "Wed, 04 Mar 2026 05:06:07 GMT", "2026-03-04T05:06:07Z"},
		{"no zone is made up", "2026-03-04 05:06:07", "2026-03-04T05:06:07"},
		{"no time is made up", "2026-03-04", "2026-03-04"},
		{"a day in words", "March 4, 2026", "2026-03-04"},
		{"a day in words, day first", "4 Mar 2026", "2026-03-04"},
		{"a Chinese day", "2026年3月4日", "2026-03-04"},
		{"a Chinese minute", "2026年3月4日 05:06", "2026-03-04T05:06:00"},
		{"white space around", "\n  2026-03-04\t", "2026-03-04"},
		{"one that is two days is left", "03/04/2026", "03/04/2026"},
		{"one of another language is left", "4. März 2026", "4. März 2026"},
		{"no day at all", "last week", "last week"},
		{"nothing", "", ""},
		{"a long text is not tried", "2026-03-04" + string(make([]byte, 100)), "2026-03-04" + string(make([]byte, 100))},
	} {
		if got := date(tc.in); got != tc.want {
			t.Errorf("%s: %q is %q, want %q", tc.name, tc.in, got, tc.want)
		}
	}
}
