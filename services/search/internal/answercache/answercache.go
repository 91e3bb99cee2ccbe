// Package answercache keeps answers of engines for a few minutes.
//
// Only honest answers are kept: results, and for a minute an engine's own word
// that there are none. A block or a failure is never kept: a cache that does so
// makes a moment's block last as long as its entries.
package answercache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/cache"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

// How long answers are good.
const (
	resultsTTL = 10 * time.Minute
	// newsTTL is for news and for what was asked to be fresh.
	newsTTL = 2 * time.Minute
	noneTTL = time.Minute
	// MaxStale is how old an answer may be when nobody gives a newer one.
	MaxStale = time.Hour
)

// version changes when adapters read answers in another way, or entries are
// written in another way.
const version = 3

// Answer is what an engine answered, before anything of it was left out for a
// caller.
type Answer struct {
	Outcome outcome.Outcome
	Page    adapter.Page
	Status  int
	Dropped adapter.Dropped `json:",omitempty"`
	// At is when the engine answered.
	At time.Time
}

// Age says how an answer may be used.
type Age int

// The ages.
const (
	// Gone: there is none.
	Gone Age = iota
	// Stale: it will do when nobody answers now.
	Stale
	// Fresh: it is as good as asking.
	Fresh
)

// Key names the answer of an engine to a query. place is the engine, where it is
// asked and how it is set up: everything but the query that changes the answer.
func Key(place string, q adapter.Query) (string, error) {
	q.Text = strings.Join(strings.Fields(norm.NFC.String(q.Text)), " ")
	text, err := json.Marshal(struct {
		Version int
		Place   string
		Query   adapter.Query
	}{version, place, q})
	if err != nil {
		return "", fmt.Errorf("name a cached answer: %w", err)
	}
	sum := sha256.Sum256(text)
	return "search/answer/" + hex.EncodeToString(sum[:]), nil
}

// Cache keeps answers.
type Cache struct {
	store cache.Cache
	now   func() time.Time
}

// New makes a cache on a store of bytes.
func New(store cache.Cache) *Cache { return &Cache{store, time.Now} }

// ttl is how long an answer to q is good; 0 for not at all.
func ttl(c outcome.Code, q adapter.Query) time.Duration {
	switch {
	case c == outcome.EmptyVerified:
		return noneTTL
	case !c.HasResults():
		return 0
	case q.News || !q.Freshness.IsZero():
		return newsTTL
	}
	return resultsTTL
}

// Get gives an answer to q and how it may be used. What cannot be read is not
// there.
func (c *Cache) Get(ctx context.Context, key string, q adapter.Query) (Answer, Age) {
	text, ok, err := c.store.Get(ctx, key)
	if err != nil || !ok {
		return Answer{}, Gone
	}
	var a Answer
	if json.Unmarshal(text, &a) != nil {
		return Answer{}, Gone
	}
	// One from the future was kept before the clock was set back: nobody knows how
	// old it is, and it is not taken for new.
	switch age := c.now().Sub(a.At).Abs(); {
	case age < ttl(a.Outcome.Code, q):
		return a, Fresh
	case a.Outcome.Code.HasResults() && age < MaxStale:
		return a, Stale
	}
	return Answer{}, Gone
}

// Put keeps an answer to q, if it is one that is kept. One that is not leaves an
// older one alone: it may be wanted once it is stale.
func (c *Cache) Put(ctx context.Context, key string, q adapter.Query, a Answer) error {
	d := ttl(a.Outcome.Code, q)
	if d == 0 {
		return nil
	}
	if a.Outcome.Code.HasResults() {
		d = MaxStale
	}
	// What an engine said about its allowance is old by the next time, and what
	// an answer cost is paid.
	a.Page.Limits, a.Page.CostUSD = nil, 0
	text, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("keep an answer: %w", err)
	}
	return c.store.Set(ctx, key, text, d)
}
