package quota

import (
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// brave is what Brave says: a window of a second and one of a month.
func brave(second, month int) Standing {
	return Standing{At: noon, Limits: adapter.Limits{
		{Limit: 1, Remaining: second, Period: time.Second, ResetAfter: time.Second},
		{Limit: 15000, Remaining: month, Period: 30 * 24 * time.Hour, ResetAfter: 16 * 24 * time.Hour},
	}}
}

func TestWhenAnAllowanceIsUsedUp(t *testing.T) {
	cases := []struct {
		name     string
		standing Standing
		after    time.Duration
		until    time.Duration // since noon; 0: not used up
		bought   bool
	}{
		{"nothing said", Standing{}, 0, 0, false},
		{"both have some left", brave(1, 14000), 0, 0, false},
		{"the second", brave(0, 14000), 0, time.Second, false},
		{"the second is over", brave(0, 14000), time.Second, 0, false},
		{"the month", brave(1, 0), 0, 16 * 24 * time.Hour, true},
		{"both, later", brave(0, 0), time.Minute, 16 * 24 * time.Hour, true},
		{"said before the clock was set back", brave(0, 0), -2 * time.Minute, 0, false},
		{"said by a clock that is a little ahead", brave(1, 0), -time.Second, 16 * 24 * time.Hour, true},
		{"without an end", Standing{At: noon, Limits: adapter.Limits{{Limit: 10, Remaining: 0}}}, 0, 0, false},
		{"not told how many are left", Standing{At: noon, Limits: adapter.Limits{{Limit: 10, Remaining: -1, ResetAfter: time.Minute}}}, 0, 0, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			until, bought, used := c.standing.UsedUp(noon.Add(c.after))
			if used != (c.until > 0) || bought != c.bought || used && until.Sub(noon) != c.until {
				t.Errorf("used up %t until %s, bought %t", used, until, bought)
			}
		})
	}
}

func TestWindowsEnd(t *testing.T) {
	now := noon.Add(time.Minute)
	w := brave(0, 14000).Windows(now)
	if len(w) != 2 || w[0].Remaining != -1 || !w[0].ResetsAt.IsZero() || w[0].Limit != 1 {
		t.Errorf("the second that is over is %+v", w[0])
	}
	if w[1].Remaining != 14000 || w[1].ResetsAt != noon.Add(16*24*time.Hour) {
		t.Errorf("the month is %+v", w[1])
	}
}
