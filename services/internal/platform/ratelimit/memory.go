package ratelimit

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// maxKeys is how many keys are remembered; the one not used for longest starts
// afresh.
const maxKeys = 10_000

// Memory is the Limiter of one process.
type Memory struct {
	mu    sync.Mutex
	turns *simplelru.LRU[string, []time.Time] // sorted
}

// NewMemory makes a Memory.
func NewMemory() *Memory {
	turns, _ := simplelru.NewLRU[string, []time.Time](maxKeys, nil) // fails for no size but 0
	return &Memory{turns: turns}
}

// Take implements Limiter.
func (m *Memory) Take(ctx context.Context, key string, limit Limit, longest time.Duration) (Turn, error) {
	if err := ctx.Err(); err != nil {
		return Turn{}, err
	}
	if limit.none() {
		return Turn{OK: true}, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	turns, _ := m.turns.Get(key)
	turns = since(turns, now.Add(-limit.Per))
	at := now
	if n := len(turns) - min(limit.N, MaxN); n >= 0 {
		at = turns[n].Add(limit.Per)
	}
	wait := at.Sub(now)
	if wait > min(longest, MaxWait) {
		m.turns.Add(key, turns)
		return Turn{Wait: wait}, nil
	}
	m.turns.Add(key, append(turns, at))
	return Turn{OK: true, Wait: wait, giveBack: func(context.Context) { m.giveBack(key, at) }}, nil
}

func (m *Memory) giveBack(key string, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	turns, _ := m.turns.Peek(key)
	if i := slices.Index(turns, at); i >= 0 {
		m.turns.Add(key, slices.Delete(turns, i, i+1))
	}
}

// since drops the turns up to and including the moment start.
func since(turns []time.Time, start time.Time) []time.Time {
	for len(turns) > 0 && !turns[0].After(start) {
		turns = turns[1:]
	}
	return turns
}
