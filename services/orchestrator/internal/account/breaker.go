package account

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
)

// ErrOpen is in the error of a call that was not made because the breaker of its
// account is open.
var ErrOpen = errors.New("account: the breaker is open")

// How long a breaker is open.
const (
	// quotaFirst is for a quota whose end the provider does not tell; it doubles
	// with each refusal after that, up to quotaMost.
	quotaFirst = time.Hour
	quotaMost  = 12 * time.Hour
	// quotaLeast is for a quota whose end is told to be nearer.
	quotaLeast = time.Minute
	// authEvery is how often a key that was refused is tried again: only a person
	// can mend it, with the provider or by a restart with another key.
	authEvery = 5 * time.Minute
	// toldMost is the longest wait that a provider's word is taken for.
	toldMost = 24 * time.Hour
	// probeWait is when to ask again while the one call is going on that may be
	// made after the wait.
	probeWait = 5 * time.Second
)

// Call is a call that is being made. Its methods may be called from one goroutine
// at a time. A nil call is one of no account.
type Call struct {
	account *Account
	opened  int  // of the account when the call was begun
	probe   bool // it is the one that finds out whether the account is taken again
}

// Taken says that the provider began to answer: the account is good.
func (c *Call) Taken() {
	if c == nil {
		return
	}
	a := c.account
	a.mu.Lock()
	defer a.mu.Unlock()
	c.leave()
	if a.opened == c.opened { // else the account was refused after this call was taken
		a.why, a.until, a.quotas = nil, time.Time{}, 0
	}
}

// End says how the call ended, once. What failed for a reason of its own says
// nothing of the account: the next call finds out.
func (c *Call) End(err error) {
	if c == nil {
		return
	}
	if err == nil {
		c.Taken()
		return
	}
	a := c.account
	a.mu.Lock()
	defer a.mu.Unlock()
	c.leave()
	failed, ok := errors.AsType[*provider.Error](err)
	if !ok {
		return
	}
	wait := a.wait(failed)
	until := a.now().Add(wait)
	if wait == 0 || c.opened < a.opened && !a.worse(failed, until) {
		return
	}
	a.why, a.until = failed, until
	a.opened++
	if failed.Kind == provider.KindQuota {
		a.quotas++
	}
}

// worse reports whether a call that was begun before the breaker was opened, and
// is refused as well, tells something new: calls that are refused together count
// as one. The caller holds the lock.
func (a *Account) worse(e *provider.Error, until time.Time) bool {
	return a.why != nil && until.After(a.until) && (e.Kind != a.why.Kind || e.RetryAfter > 0)
}

// leave frees the place of the one call. The caller holds the account's lock.
func (c *Call) leave() {
	if c.probe {
		c.account.probing, c.probe = false, false
	}
}

// wait is how long a failure opens the breaker; 0: not at all.
func (a *Account) wait(e *provider.Error) time.Duration {
	told := min(e.RetryAfter, toldMost)
	switch e.Kind {
	case provider.KindQuota:
		if told > 0 {
			return max(told, quotaLeast)
		}
		wait := quotaFirst
		for range a.quotas {
			wait = min(2*wait, quotaMost)
		}
		return wait
	case provider.KindAuth:
		return authEvery
	case provider.KindRateLimited:
		return told
	}
	return 0
}

// TryNow lets the one call be made that finds out whether the account is taken
// again, whatever is left of the wait: somebody looked, and had reason to.
func (a *Account) TryNow() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := a.now(); a.why != nil && a.until.After(now) {
		a.until = now
	}
}

// refused is the error of a call that may not be made now, nil when it may. The
// caller holds the lock.
func (a *Account) refused() *provider.Error {
	if a.why == nil {
		return nil
	}
	e := *a.why
	e.Err = ErrOpen
	words := strings.TrimRight(e.Message, ". ")
	switch left := a.until.Sub(a.now()); {
	case left > 0:
		e.RetryAfter = left
		e.Message = fmt.Sprintf("%s. It is not asked again before %s", words, a.until.UTC().Format("2006-01-02 15:04:05 UTC"))
	case a.probing:
		e.RetryAfter = probeWait
		e.Message = words + ". One call is finding out whether it answers again"
	default:
		return nil
	}
	return &e
}
