package ratelimit

import (
	"fmt"
	"testing"
	"time"
)

func TestMemoryIsBounded(t *testing.T) {
	m := NewMemory()
	limit := Limit{N: 3, Per: time.Hour}
	for i := range 2 * maxKeys {
		if turn, err := m.Take(t.Context(), fmt.Sprint(i), limit, 0); err != nil || !turn.OK {
			t.Fatal("refused")
		}
	}
	if n := m.turns.Len(); n != maxKeys {
		t.Errorf("%d keys are remembered, want %d", n, maxKeys)
	}
	for range 100 {
		if _, err := m.Take(t.Context(), "k", limit, 0); err != nil {
			t.Fatal(err)
		}
	}
	if turns, _ := m.turns.Get("k"); len(turns) != limit.N {
		t.Errorf("%d turns are remembered, want %d", len(turns), limit.N)
	}
}

func BenchmarkMemoryTake(b *testing.B) {
	m := NewMemory()
	limit := Limit{N: 10, Per: time.Microsecond}
	for i := 0; b.Loop(); i++ {
		_, _ = m.Take(b.Context(), "k", limit, 0)
	}
}
