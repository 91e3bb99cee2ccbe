package toolkit

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Key names one call that must have one effect.
type Key struct {
	// Caller is who calls (Config.Caller).
	Caller string
	// Tool is the tool's name.
	Tool string
	// EffectKey is the key that the caller gave.
	EffectKey string
}

// State is what is known of a call by its key, in the words of GetCallResponse.
type State string

// The states.
const (
	// StateRunning: begun, and somebody is at it.
	StateRunning State = "running"
	// StateFinished: there is a result.
	StateFinished State = "finished"
	// StateLost: begun, but its process ended; nobody knows how far it came.
	StateLost State = "lost"
	// StateUnknown: never seen, or forgotten.
	StateUnknown State = "unknown"
)

// StoredResult is a result as it is kept.
type StoredResult struct {
	ContentJSON string
	IsError     bool
	Origins     []string
	CostUSD     float64
}

// Record is what a KeyStore knows of a call.
type Record struct {
	State State
	// ArgsHash is the [Hash] of the canonical arguments it was begun with.
	ArgsHash string
	// Result is set when State is StateFinished. It is shared: do not modify it.
	Result *StoredResult
}

// KeyStore remembers the calls of keyed and queryable tools, for 7 days after
// they end. Its methods are safe for concurrent use.
//
// A store that outlives the process answers StateLost for calls that were
// running when their process ended; several processes may share one.
type KeyStore interface {
	// Begin records the call as running and answers begun, unless the key is
	// known; then it changes nothing and answers what is known.
	Begin(ctx context.Context, key Key, argsHash string) (known Record, begun bool, err error)
	// Finish records how a begun call ended: StateFinished with its Result,
	// StateLost when the outcome is unknown, or StateUnknown when nothing was
	// done, which forgets the key.
	Finish(ctx context.Context, key Key, end Record) error
	// Get answers what is known of the key, StateUnknown if nothing.
	Get(ctx context.Context, key Key) (Record, error)
}

// Defaults of a MemoryKeyStore.
const (
	// DefaultKeyTTL is how long a call is remembered after its end.
	DefaultKeyTTL = 7 * 24 * time.Hour
	// DefaultMaxKeys caps the keys in memory.
	DefaultMaxKeys = 10_000
	// DefaultMaxKeyBytes caps the results in memory.
	DefaultMaxKeyBytes = 256 << 20
)

// ErrKeyStoreFull says that a memory store remembers as much as it may. It
// forgets nothing early: a forgotten key would let an effect happen twice.
var ErrKeyStoreFull = errors.New("key store is full")

// MemoryKeyStoreConfig sets up a [MemoryKeyStore]; zero values take the defaults.
type MemoryKeyStoreConfig struct {
	TTL        time.Duration
	MaxEntries int
	MaxBytes   int
	Now        func() time.Time
}

// MemoryKeyStore keeps keys in memory. It forgets them when the process ends,
// so it serves tests and tools whose effects end with the process too.
type MemoryKeyStore struct {
	cfg MemoryKeyStoreConfig

	mu      sync.Mutex
	entries map[Key]*memoryEntry
	ended   []endedKey // in order of their end
	bytes   int
}

type memoryEntry struct {
	record  Record
	endedAt time.Time
}

type endedKey struct {
	key Key
	at  time.Time
}

var _ KeyStore = (*MemoryKeyStore)(nil)

// NewMemoryKeyStore makes an empty store.
func NewMemoryKeyStore(cfg MemoryKeyStoreConfig) *MemoryKeyStore {
	if cfg.TTL <= 0 {
		cfg.TTL = DefaultKeyTTL
	}
	if cfg.MaxEntries <= 0 {
		cfg.MaxEntries = DefaultMaxKeys
	}
	if cfg.MaxBytes <= 0 {
		cfg.MaxBytes = DefaultMaxKeyBytes
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &MemoryKeyStore{cfg: cfg, entries: map[Key]*memoryEntry{}}
}

// Begin implements KeyStore. A full store answers [ErrKeyStoreFull].
func (m *MemoryKeyStore) Begin(_ context.Context, key Key, argsHash string) (Record, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire()
	if e := m.entries[key]; e != nil {
		return e.record, false, nil
	}
	if len(m.entries) >= m.cfg.MaxEntries || m.bytes >= m.cfg.MaxBytes {
		return Record{}, false, ErrKeyStoreFull
	}
	m.entries[key] = &memoryEntry{record: Record{State: StateRunning, ArgsHash: argsHash}}
	return Record{}, true, nil
}

// Finish implements KeyStore.
func (m *MemoryKeyStore) Finish(_ context.Context, key Key, end Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[key]
	if e == nil || e.record.State != StateRunning {
		return errors.New("finishing a call that is not running")
	}
	if end.State == StateUnknown {
		delete(m.entries, key)
		return nil
	}
	e.record.State, e.record.Result, e.endedAt = end.State, end.Result, m.cfg.Now()
	m.bytes += resultBytes(end.Result)
	m.ended = append(m.ended, endedKey{key, e.endedAt})
	return nil
}

// Get implements KeyStore.
func (m *MemoryKeyStore) Get(_ context.Context, key Key) (Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire()
	if e := m.entries[key]; e != nil {
		return e.record, nil
	}
	return Record{State: StateUnknown}, nil
}

// expire forgets what ended longer ago than the TTL.
func (m *MemoryKeyStore) expire() {
	horizon := m.cfg.Now().Add(-m.cfg.TTL)
	for len(m.ended) > 0 && m.ended[0].at.Before(horizon) {
		gone := m.ended[0]
		m.ended = m.ended[1:]
		m.bytes -= resultBytes(m.entries[gone.key].record.Result)
		delete(m.entries, gone.key)
	}
}

func resultBytes(r *StoredResult) int {
	if r == nil {
		return 0
	}
	return len(r.ContentJSON)
}
