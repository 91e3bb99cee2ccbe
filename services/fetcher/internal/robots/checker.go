package robots

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"sync"
	"time"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/httpfetch"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/cache"
)

// State is what was found of a robots.txt, in the words of the contract.
type State string

// The states.
const (
	StateRules       State = "rules"       // it was read
	StateNone        State = "none"        // there is none: everything is allowed
	StateUnreachable State = "unreachable" // nobody can say: nothing is allowed
)

// Verdict is what holds for one origin.
type Verdict struct {
	State State `json:"s"`
	Rules
	// Until is when it has to be asked again.
	Until time.Time `json:"u"`
	// Reason says why nothing is allowed, for a person.
	Reason string `json:"r,omitempty"`
	// Failures is how often in a row the origin could not be asked.
	Failures int `json:"f,omitempty"`
	// Refusal says that the origin is none that anything can be asked of.
	Refusal *Refusal `json:"x,omitempty"`
}

// Refusal is why an origin is never asked: its address is not public, its name
// does not exist, its certificate is not trusted. Its pages fail in the same way.
type Refusal struct {
	Kind    httpfetch.Kind `json:"k"`
	Reason  string         `json:"r,omitempty"`
	Host    string         `json:"h"`
	Message string         `json:"m"`
}

// Allows says whether an address of the origin may be asked for.
func (v *Verdict) Allows(u *url.URL) bool {
	if v.State == StateUnreachable {
		return targetOf(u).free
	}
	return v.Rules.Allows(u)
}

// Config is what a Checker works with.
type Config struct {
	// Client fetches; its limits are replaced by those of Limits.
	Client *httpfetch.Client
	// HTTP are the limits that Client was made with.
	HTTP httpfetch.Config
	// Cache keeps verdicts, for every process that shares it.
	Cache cache.Cache
}

// Checker knows the robots.txt of every origin. It is safe for concurrent use;
// Close it after use.
type Checker struct {
	client  *httpfetch.Client
	cache   cache.Cache
	product string

	ctx     context.Context
	stop    context.CancelFunc
	mu      sync.Mutex
	flights map[string]*flight
	running sync.WaitGroup
}

// flight is one fetch that everybody waits for who asks about the origin.
type flight struct {
	done    chan struct{}
	verdict *Verdict
}

var errClosed = errors.New("robots: the checker is closed")

// New makes a checker.
func New(cfg Config) *Checker {
	c := &Checker{
		client: cfg.Client.With(limits(cfg.HTTP)), cache: cfg.Cache, product: Product(cfg.HTTP.UserAgent),
		flights: map[string]*flight{},
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c
}

// Close ends what is being fetched and waits for it.
func (c *Checker) Close() {
	c.mu.Lock()
	c.stop()
	c.mu.Unlock()
	c.running.Wait()
}

// Check answers what holds for the origin of an address, which is absolute and
// in the guard's normal form. An origin is fetched once, whoever asks; one caller
// who leaves does not end that. The error is that of ctx or of a closed checker, or
// an *httpfetch.Error about an origin that cannot be asked for anything.
func (c *Checker) Check(ctx context.Context, u *url.URL) (*Verdict, error) {
	origin := u.Scheme + "://" + u.Host
	known := c.cached(ctx, origin)
	if known != nil && time.Now().Before(known.Until) {
		return known.answer()
	}
	f, err := c.fly(ctx, origin, known)
	if err != nil {
		return nil, err
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if f.verdict == nil {
		return nil, errClosed
	}
	return f.verdict.answer()
}

func (v *Verdict) answer() (*Verdict, error) {
	if r := v.Refusal; r != nil {
		return nil, &httpfetch.Error{Kind: r.Kind, Reason: r.Reason, Host: r.Host, Message: r.Message, Attempts: 1}
	}
	return v, nil
}

// fly joins the fetch of an origin, or begins it.
func (c *Checker) fly(ctx context.Context, origin string, known *Verdict) (*flight, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return nil, errClosed
	}
	if f := c.flights[origin]; f != nil {
		return f, nil
	}
	f := &flight{done: make(chan struct{})}
	c.flights[origin] = f
	c.running.Go(func() {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer context.AfterFunc(c.ctx, cancel)()
		defer cancel()
		if v := c.fetch(ctx, origin, known); ctx.Err() == nil {
			c.keep(ctx, origin, v)
			f.verdict = v
		}
		c.mu.Lock()
		delete(c.flights, origin)
		c.mu.Unlock()
		close(f.done)
	})
	return f, nil
}

// remembered is how long failures are remembered after they have to be asked
// again: the next one makes the wait longer.
const remembered = 2 * maxUnreachable

func (c *Checker) key(origin string) string { return "robots/1/" + c.product + "/" + origin }

// cached is what is known of an origin, also when it holds no more; nil: nothing.
// A cache that cannot be asked knows nothing.
func (c *Checker) cached(ctx context.Context, origin string) *Verdict {
	raw, ok, err := c.cache.Get(ctx, c.key(origin))
	if err != nil || !ok {
		return nil
	}
	v := &Verdict{}
	if json.Unmarshal(raw, v) != nil {
		return nil
	}
	return v
}

func (c *Checker) keep(ctx context.Context, origin string, v *Verdict) {
	raw, err := json.Marshal(v)
	if err != nil {
		return // never: there is nothing in it that JSON does not know
	}
	ttl := time.Until(v.Until)
	if v.Failures > 0 {
		ttl += remembered
	}
	_ = c.cache.Set(ctx, c.key(origin), raw, ttl) // lost: it is asked again
}
