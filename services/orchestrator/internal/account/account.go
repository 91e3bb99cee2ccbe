// Package account keeps runs from calling an account that its provider has just
// refused: one that has no credit left, whose key is refused, or that is told to
// wait. An account is one key at one host, whatever number of models it serves.
// What is known of it lives in this process and ends with it.
package account

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
	"time"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
)

// idBytes of a hash tell accounts apart.
const idBytes = 8

// Set has the accounts of one process.
type Set struct {
	now  func() time.Time
	salt []byte

	mu   sync.Mutex
	byID map[string]*Account
}

// NewSet makes an empty set that goes by the clock now.
func NewSet(now func() time.Time) *Set {
	salt := make([]byte, sha256.Size)
	_, _ = rand.Read(salt) // never fails
	return &Set{now: now, salt: salt, byID: map[string]*Account{}}
}

// Of is the account of a key at a host, which may have a port: the same one for
// the same two. An empty key is an account too.
func (s *Set) Of(host, key string) *Account {
	mac := hmac.New(sha256.New, s.salt)
	mac.Write([]byte(strings.ToLower(host) + "\x00" + strings.TrimSpace(key)))
	id := hex.EncodeToString(mac.Sum(nil)[:idBytes])
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[id] == nil {
		s.byID[id] = &Account{id: id, now: s.now}
	}
	return s.byID[id]
}

// Account is one key at one host, with its breaker. It is safe for concurrent
// use. A nil account has no breaker: every call may be made.
type Account struct {
	id  string
	now func() time.Time

	mu      sync.Mutex
	why     *provider.Error // what opened the breaker; nil while it is closed
	until   time.Time       // no call before
	probing bool            // the one call that may be made after it is going on
	opened  int             // counts openings, so that calls begun before one are known
	quotas  int             // refusals for quota in a row, from opening to opening
}

// ID names the account in logs. Neither key nor host can be found out from it,
// and it is another one in each process.
func (a *Account) ID() string {
	if a == nil {
		return ""
	}
	return a.id
}

// Open reports whether no call may be made now.
func (a *Account) Open() bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refused() != nil
}

// Enter asks to make one call. After a nil error the call must be ended. The
// error repeats what the provider said when it refused the account and tells when
// it is asked again; its RetryAfter is how long that is away, its Err ErrOpen.
func (a *Account) Enter() (*Call, *provider.Error) {
	if a == nil {
		return nil, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.refused(); err != nil {
		return nil, err
	}
	c := &Call{account: a, opened: a.opened, probe: a.why != nil}
	a.probing = c.probe
	return c, nil
}
