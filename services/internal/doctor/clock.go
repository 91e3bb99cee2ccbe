package doctor

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
)

// clocks are the clocks that other checks came across.
type clocks struct {
	mu    sync.Mutex
	known []clock
}

type clock struct {
	whose string
	ahead time.Duration // of ours
}

// add notes that a clock showed theirs when ours showed the other.
func (c *clocks) add(whose string, theirs, ours time.Time) {
	if theirs.IsZero() || ours.IsZero() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = append(c.known, clock{whose, theirs.Sub(ours)})
}

// compare tells whether our clock is right, as far as anybody else knows.
func (c *clocks) compare() Finding {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := Finding{Check: "clock", Level: OK}
	if len(c.known) == 0 {
		f.Level, f.Message = Info, "there is no other clock to compare with: no model endpoint and no database server told the time"
		return f
	}
	slices.SortFunc(c.known, func(a, b clock) int { return strings.Compare(a.whose, b.whose) })
	var wrong, right []string
	for _, k := range c.known {
		if k.ahead.Abs() > auth.ClockLeeway {
			direction := "behind"
			if k.ahead < 0 {
				direction = "ahead of"
			}
			wrong = append(wrong, fmt.Sprintf("%s %s that of %s", k.ahead.Abs().Round(time.Second), direction, k.whose))
			continue
		}
		right = append(right, k.whose)
	}
	if len(wrong) > 0 {
		f.Level, f.Message = Failed, "the clock of this machine is "+strings.Join(wrong, ", and ")
		f.Fix = fmt.Sprintf("synchronise the clocks (NTP): identities between services are refused beyond %s", auth.ClockLeeway)
		return f
	}
	f.Message = "agrees with " + strings.Join(right, ", ")
	return f
}
