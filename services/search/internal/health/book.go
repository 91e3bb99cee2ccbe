package health

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/cache"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/ratelimit"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
	"github.com/nanoclaw/nanoclaw/services/search/internal/quota"
)

const (
	// minProbeTime is how long one that finds out may take before another may,
	// where requests do not take longer.
	minProbeTime = 30 * time.Second
	// keep is how long a record is kept that nobody touches, past the end of what
	// it waits for.
	keep = 24 * time.Hour
	// newest is the weight of the newest latency in the mean.
	newest = 0.3
)

// Record is what is known of an engine as it is reached from one network.
type Record struct {
	Breaker Breaker
	Quota   quota.Standing
	// Latency is how long it takes to answer, weighted towards the last answers;
	// 0 when it has not answered yet.
	Latency time.Duration `json:",omitempty"`
}

// Status is whether an engine is asked at a moment.
type Status struct {
	Phase Phase
	// Until is when it is asked again; zero when that is not known.
	Until time.Time
	// Reason is the outcome that speaks against asking.
	Reason outcome.Code
}

// Status is the status at a time: an allowance of days that is used up is as good
// as an open breaker.
func (r Record) Status(now time.Time) Status {
	s := Status{Phase: r.Breaker.Phase(now)}
	if s.Phase != Closed {
		s.Until, s.Reason = r.Breaker.Until, r.Breaker.Reason
	}
	if until, bought, used := r.Quota.UsedUp(now); used && bought && (s.Phase != Open || !s.Until.IsZero() && until.After(s.Until)) {
		return Status{Open, until, outcome.QuotaExhausted}
	}
	return s
}

// Book holds the records. Replicas share them through a cache; while that is
// away, or without one, each process goes by its own. Two replicas that write at
// once may lose a sample, never the one probe.
type Book struct {
	shared  cache.Cache // nil: this process alone
	limiter ratelimit.Limiter
	// probeTime is how long one that finds out may take before another may.
	probeTime time.Duration
	now       func() time.Time
	chance    func() float64

	mu    sync.Mutex
	pages map[string]*page
}

// page is what this process knows of a place.
type page struct {
	mu     sync.Mutex
	record Record
	// refused says that the engine refused our key. It is this process's alone
	// and ends with it: a new key comes with a new configuration.
	refused bool
}

// NewBook makes a book. limiter hands out probes; with shared, both must be those
// of all replicas. longest is how long a request may take, its turn included.
func NewBook(shared cache.Cache, limiter ratelimit.Limiter, longest time.Duration) *Book {
	return &Book{
		shared: shared, limiter: limiter, probeTime: max(minProbeTime, longest),
		now: time.Now, chance: rand.Float64, pages: map[string]*page{},
	}
}

func (b *Book) page(place string) *page {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.pages[place]
	if p == nil {
		p = &page{}
		b.pages[place] = p
	}
	return p
}

// Look gives the record of a place.
func (b *Book) Look(ctx context.Context, place string) Record {
	p := b.page(place)
	p.mu.Lock()
	defer p.mu.Unlock()
	return b.read(ctx, place, p)
}

func (b *Book) read(ctx context.Context, place string, p *page) Record {
	if b.shared != nil {
		if text, ok, err := b.shared.Get(ctx, key(place)); err == nil && ok {
			var shared Record
			if json.Unmarshal(text, &shared) == nil {
				p.record = shared
			}
		}
	}
	r := p.record
	if p.refused {
		r.Breaker = Breaker{Opened: 1, Reason: outcome.AuthFailed}
	}
	return r
}

func key(place string) string { return "health/" + place }

// Pass allows one request. Every Pass ends with Done.
type Pass struct {
	book  *Book
	place string
	probe *ratelimit.Turn
}

// Admit lets a request to a place through, or says what speaks against it. The
// error is that of a ctx that has ended.
func (b *Book) Admit(ctx context.Context, place string) (*Pass, Status, error) {
	s := b.Look(ctx, place).Status(b.now())
	switch s.Phase {
	case Closed:
		return &Pass{book: b, place: place}, s, nil
	case Open:
		return nil, s, nil
	}
	turn, err := b.limiter.Take(ctx, "search/probe/"+place, ratelimit.Limit{N: 1, Per: b.probeTime}, 0)
	if err != nil {
		return nil, s, err
	}
	if !turn.OK {
		s.Until = b.now().Add(turn.Wait)
		return nil, s, nil
	}
	// Another one may have found out between the look and the turn.
	if s = b.Look(ctx, place).Status(b.now()); s.Phase != HalfOpen {
		turn.GiveBack(ctx)
		if s.Phase == Open {
			return nil, s, nil
		}
		return &Pass{book: b, place: place}, s, nil
	}
	return &Pass{b, place, &turn}, s, nil
}

// Ended is what came of a request.
type Ended struct {
	Outcome outcome.Outcome
	Took    time.Duration
	Limits  adapter.Limits
	// Unsent says that no request was made: nothing is learnt.
	Unsent bool
}

// Done ends a pass. It is recorded although the caller is gone.
func (p *Pass) Done(ctx context.Context, e Ended) {
	ctx = context.WithoutCancel(ctx)
	if !e.Unsent {
		p.book.write(ctx, p.place, e)
	}
	if p.probe != nil {
		p.probe.GiveBack(ctx)
	}
}

func (b *Book) write(ctx context.Context, place string, e Ended) {
	p := b.page(place)
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.Outcome.Code == outcome.AuthFailed {
		p.refused = true
		return
	}
	r := b.read(ctx, place, p)
	if p.refused {
		r = p.record
	}
	now := b.now()
	r.Breaker = r.Breaker.After(now, e.Outcome, b.chance())
	if len(e.Limits) > 0 {
		r.Quota = quota.Standing{Limits: e.Limits, At: now}
	}
	if e.Outcome.Code.Answered() {
		r.Latency = mean(r.Latency, e.Took)
	}
	p.record = r
	if b.shared == nil {
		return
	}
	text, err := json.Marshal(r)
	if err != nil {
		return // cannot be: the record is plain data
	}
	ttl := keep
	if s := r.Status(now); s.Until.After(now) {
		ttl += s.Until.Sub(now)
	}
	_ = b.shared.Set(ctx, key(place), text, ttl) // fails only when ctx has ended
}

func mean(before, took time.Duration) time.Duration {
	if before == 0 {
		return took
	}
	return before + time.Duration(newest*float64(took-before))
}
