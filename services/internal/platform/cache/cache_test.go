package cache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

const kib = 1 << 10

func TestMemoryKeepsWithinItsBytes(t *testing.T) {
	m := NewMemory(10 * kib)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range 5000 {
		key := fmt.Sprint("k", random.IntN(200))
		switch random.IntN(4) {
		case 0:
			_ = m.Delete(context.Background(), key)
		default:
			_ = m.Set(context.Background(), key, make([]byte, random.IntN(3*kib)), 0)
		}
		if m.bytes > m.maxBytes {
			t.Fatalf("step %d: %d bytes of at most %d", i, m.bytes, m.maxBytes)
		}
	}
	var sum int64
	for _, key := range m.entries.Keys() {
		e, _ := m.entries.Peek(key)
		sum += cost(key, e.val)
	}
	if sum != m.bytes || sum < m.maxBytes/2 {
		t.Errorf("counted %d bytes, entries hold %d", m.bytes, sum)
	}
	for _, key := range m.entries.Keys() {
		_ = m.Delete(context.Background(), key)
	}
	if m.bytes != 0 {
		t.Errorf("%d bytes in an empty cache", m.bytes)
	}
}

func TestTheEntryUnusedForLongestLeavesFirst(t *testing.T) {
	m := NewMemory(3 * (kib + entryOverheadBytes + 1))
	for _, key := range []string{"a", "b", "c"} {
		_ = m.Set(context.Background(), key, make([]byte, kib), 0)
	}
	_, _, _ = m.Get(context.Background(), "a") // used: b is now the oldest
	_ = m.Set(context.Background(), "d", make([]byte, kib), 0)
	if got := fmt.Sprint(m.entries.Keys()); got != "[c a d]" {
		t.Errorf("kept %s, want [c a d]", got)
	}
}

func TestAValueTooLargeIsNotKeptAndLeavesNoOldOne(t *testing.T) {
	m := NewMemory(kib)
	_ = m.Set(context.Background(), "other", []byte("x"), 0)
	_ = m.Set(context.Background(), "k", []byte("old"), 0)
	if err := m.Set(context.Background(), "k", make([]byte, kib), 0); err != nil {
		t.Errorf("err = %v", err)
	}
	if got := fmt.Sprint(m.entries.Keys()); got != "[other]" {
		t.Errorf("kept %s", got)
	}
	none := NewMemory(0)
	_ = none.Set(context.Background(), "k", nil, 0)
	if none.entries.Len() != 0 {
		t.Error("a cache of 0 bytes keeps nothing")
	}
}

func TestAnExpiredEntryGivesItsBytesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory(kib)
		_ = m.Set(context.Background(), "k", []byte("x"), time.Second)
		time.Sleep(time.Second)
		_, _, _ = m.Get(context.Background(), "k")
		if m.bytes != 0 {
			t.Errorf("%d bytes left", m.bytes)
		}
	})
}

func BenchmarkMemoryGet(b *testing.B) {
	m := NewMemory(64 << 20)
	for i := range 1000 {
		_ = m.Set(context.Background(), fmt.Sprint(i), make([]byte, 10*kib), time.Hour)
	}
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			_, _, _ = m.Get(context.Background(), fmt.Sprint(i%1000))
		}
	})
}
