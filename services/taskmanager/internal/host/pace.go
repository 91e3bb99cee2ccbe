// Package host is the clock by which a host is asked: how many requests at once,
// how far apart, and when not at all. It is pure: the time comes in, the state
// goes out, and whoever calls keeps it.
package host

import "time"

const (
	// MaxBatch is the most addresses of one batch.
	MaxBatch = 32
	// batchTime is about how long a batch keeps a host, so that other tasks and a
	// cancel have their turn.
	batchTime = 5 * time.Second
	// maxParallel is the most requests at once to one host.
	maxParallel = 5
	// growAfter is how many pages must come before one more request at once.
	growAfter = 20
	// MaxCrawlDelay is the longest Crawl-delay that is kept to; a longer one
	// counts as this.
	MaxCrawlDelay = time.Minute
	// latencyShare and maxLatencyGap: a slow host is asked less often.
	latencyShare  = 2
	maxLatencyGap = 10 * time.Second

	// breakerFailures in a row open the breaker.
	breakerFailures = 5
	// MaxOpens of the breaker in a row end what a task wants of the host.
	MaxOpens      = 3
	firstOpen     = 30 * time.Second
	longestOpen   = 30 * time.Minute
	openFactor    = 4
	firstBlock    = 5 * time.Second
	longestBlock  = 15 * time.Minute
	maxRetryAfter = 30 * time.Minute
	// MaxBlocks is how often in a row a host may ask to be left alone.
	MaxBlocks = 6
	// maxRobotsFailures is how often in a row robots.txt may be unreachable.
	maxRobotsFailures = 3
	firstRobotsWait   = 5 * time.Second
	longestRobotsWait = 5 * time.Minute
	robotsFactor      = 6
	// forgetAfter without a request a host starts afresh.
	forgetAfter = time.Hour
)

// Reasons why the rest of what a task wants of a host is given up.
const (
	ReasonUnavailable = "HOST_UNAVAILABLE"
	ReasonRateLimited = "RATE_LIMITED"
)

// Pace is what is known of a host. The zero value is a host that was never
// asked. Times are unix milliseconds.
type Pace struct {
	// NextAt is when the host may be asked again.
	NextAt int64
	// CrawlDelayMS is what its robots.txt asks for.
	CrawlDelayMS int
	// RobotsFailures in a row to reach its robots.txt.
	RobotsFailures int
	// Parallel requests at once; 0 means 1.
	Parallel int
	// Clean pages since the last growth.
	Clean int
	// LatencyMS is a moving average.
	LatencyMS int
	// Failures in a row, Opens of the breaker in a row, and Blocks in a row.
	Failures, Opens, Blocks int
	// Reason why it waits, for a person; empty when it only keeps its pace.
	Reason string
}

// Policy is what the operator and the kind of host decide.
type Policy struct {
	// Gap is the least distance between two requests.
	Gap time.Duration
	// Local says that the host is the operator's own: no distance is due that it
	// did not ask for.
	Local bool
	// MaxRetries of an address.
	MaxRetries int
	// Jitter gives a number from 0 to 1; nil means 1.
	Jitter func() float64
}

// spread is d with jitter: from half of it to the whole.
func (p Policy) spread(d time.Duration) time.Duration {
	if p.Jitter == nil {
		return d
	}
	return d/2 + time.Duration(p.Jitter()*float64(d/2))
}

// Grant is how a host may be asked for one batch.
type Grant struct {
	Parallel int
	Gap      time.Duration
	// Size is the most addresses.
	Size int
}

// Gap is the distance from the start of one request to the start of the next.
func (p *Pace) Gap(policy Policy) time.Duration {
	asked := min(time.Duration(p.CrawlDelayMS)*time.Millisecond, MaxCrawlDelay)
	if policy.Local {
		return asked
	}
	slow := min(time.Duration(p.LatencyMS)*latencyShare*time.Millisecond, maxLatencyGap)
	return max(asked, policy.Gap, slow)
}

// Grant says how the host may be asked now by a task that may have so many
// requests more at once.
func (p *Pace) Grant(now int64, policy Policy, free int) Grant {
	p.forget(now)
	g := Grant{Gap: p.Gap(policy), Size: MaxBatch}
	if g.Gap > 0 {
		g.Size = min(max(int(batchTime/g.Gap), 1), MaxBatch)
	}
	if p.Opens > 0 || p.Blocks > 0 { // one address shows whether it is well again
		g.Size = 1
	}
	g.Parallel = min(p.window(policy), free, g.Size)
	return g
}

// window is how many requests at once the host bears. One of the operator's own
// bears all until it shows otherwise.
func (p *Pace) window(policy Policy) int {
	if p.Parallel == 0 && policy.Local {
		return maxParallel
	}
	return max(p.Parallel, 1)
}

// forget lets a host that was left alone for long start afresh.
func (p *Pace) forget(now int64) {
	if now-p.NextAt > forgetAfter.Milliseconds() {
		p.Failures, p.Opens, p.Blocks, p.RobotsFailures = 0, 0, 0, 0
	}
}

// Rest is called when nobody asks the host any more: it is left alone for the
// distance to the next request.
func (p *Pace) Rest(now int64, policy Policy) {
	if next := now + p.Gap(policy).Milliseconds(); next > p.NextAt {
		p.NextAt, p.Reason = next, ""
	}
}

// RobotsKnown takes what robots.txt says.
func (p *Pace) RobotsKnown(crawlDelay time.Duration) {
	if p.RobotsFailures > 0 {
		p.Reason = ""
	}
	p.CrawlDelayMS, p.RobotsFailures = int(crawlDelay.Milliseconds()), 0
}

// RobotsUnreachable takes that robots.txt cannot be had, which forbids
// everything (RFC 9309 section 2.3.1.4), and holds for a time. It reports
// whether this was once too often.
func (p *Pace) RobotsUnreachable(now int64, holds time.Duration, why string) (giveUp bool) {
	p.forget(now)
	p.RobotsFailures++
	wait := grown(firstRobotsWait, robotsFactor, p.RobotsFailures, longestRobotsWait)
	p.NextAt = now + max(wait, min(holds, longestRobotsWait)).Milliseconds()
	p.Reason = "its robots.txt cannot be read, so nothing may be asked for"
	if why != "" {
		p.Reason += ": " + why
	}
	return p.RobotsFailures >= maxRobotsFailures
}

// grown is first times factor^(n-1), at most longest.
func grown(first time.Duration, factor, n int, longest time.Duration) time.Duration {
	d := first
	for range n - 1 {
		if d *= time.Duration(factor); d >= longest {
			return longest
		}
	}
	return min(d, longest)
}
