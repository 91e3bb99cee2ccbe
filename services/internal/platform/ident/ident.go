// Package ident makes the ids of what the services keep: a prefix that says what
// a thing is, for people who read logs, and a ULID in lower case, which sorts by
// the time it was made. See https://github.com/ulid/spec.
package ident

import (
	"crypto/rand"
	"strings"
	"sync"

	"github.com/oklog/ulid/v2"
)

var entropy = struct {
	sync.Mutex
	*ulid.MonotonicEntropy
}{MonotonicEntropy: ulid.Monotonic(rand.Reader, 0)}

// New makes an id with the given prefix. Ids made by one process are in order
// also within a millisecond.
func New(prefix string) string {
	entropy.Lock()
	defer entropy.Unlock()
	return prefix + strings.ToLower(ulid.MustNew(ulid.Now(), entropy.MonotonicEntropy).String())
}

// Is says whether s is an id as New makes them with the given prefix. Whether
// there is such a thing is another question.
func Is(s, prefix string) bool {
	id, ok := strings.CutPrefix(s, prefix)
	if !ok || id != strings.ToLower(id) {
		return false
	}
	_, err := ulid.ParseStrict(id)
	return err == nil
}
