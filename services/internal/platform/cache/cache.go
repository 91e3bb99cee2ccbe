package cache

import (
	"bytes"
	"context"
	"math"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Cache is a store of bytes by key. It is safe for concurrent use, and the
// slices that go in and come out are the caller's own.
type Cache interface {
	// Get answers the value and true, or false when there is none (any more).
	// An error means that the cache could not be asked: go on without it.
	Get(ctx context.Context, key string) (val []byte, ok bool, err error)
	// Set stores a value for ttl; 0 means until the room is needed. A negative
	// ttl removes the key.
	Set(ctx context.Context, key string, val []byte, ttl time.Duration) error
	// Delete removes a key. Removing what is not there is no error.
	Delete(ctx context.Context, key string) error
}

// entryOverheadBytes is about what an entry costs besides its key and value.
const entryOverheadBytes = 128

// Memory is a Cache inside this process: at most so many bytes, the entry not
// used for longest leaves first.
type Memory struct {
	mu       sync.Mutex
	entries  *simplelru.LRU[string, entry]
	bytes    int64
	maxBytes int64
}

type entry struct {
	val     []byte
	expires time.Time // zero: never
}

// NewMemory makes a cache of at most maxBytes: keys, values, and 128 bytes an
// entry. A value that is larger than that alone is not kept. With 0 nothing is.
func NewMemory(maxBytes int64) *Memory {
	m := &Memory{maxBytes: maxBytes}
	// The bound is on bytes; a count of entries cannot be exceeded, so this
	// cannot fail.
	m.entries, _ = simplelru.NewLRU(math.MaxInt, func(key string, e entry) { m.bytes -= cost(key, e.val) })
	return m
}

func cost(key string, val []byte) int64 {
	return int64(len(key)) + int64(len(val)) + entryOverheadBytes
}

// Get implements Cache. It never fails.
func (m *Memory) Get(_ context.Context, key string) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.entries.Get(key)
	if ok && !e.expires.IsZero() && !time.Now().Before(e.expires) {
		m.entries.Remove(key)
		ok = false
	}
	if !ok {
		return nil, false, nil
	}
	return bytes.Clone(e.val), true, nil
}

// Set implements Cache. It never fails.
func (m *Memory) Set(_ context.Context, key string, val []byte, ttl time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries.Remove(key) // a value that is not kept must not leave an older one behind
	size := cost(key, val)
	if ttl < 0 || size > m.maxBytes {
		return nil
	}
	e := entry{val: append([]byte{}, val...)}
	if ttl > 0 {
		e.expires = time.Now().Add(ttl)
	}
	for m.bytes+size > m.maxBytes {
		m.entries.RemoveOldest()
	}
	m.bytes += size
	m.entries.Add(key, e)
	return nil
}

// Delete implements Cache. It never fails.
func (m *Memory) Delete(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries.Remove(key)
	return nil
}
