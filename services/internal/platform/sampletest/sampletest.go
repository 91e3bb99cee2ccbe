// Package sampletest makes a sample of a test that takes long: the ordinary lane
// runs that, make test-faults everything.
package sampletest

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// Full reports whether the long counts are asked for, as make test-faults does.
func Full() bool { return os.Getenv("NANOCLAW_TEST_FULL") == "1" }

// Count is short, or all when the long counts are asked for.
func Count(short, all int) int {
	if Full() {
		return all
	}
	return short
}

// Seed is that of NANOCLAW_TEST_SEED, or of the clock. It is logged, so that a
// failure can be repeated.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano() % 1_000_000)
	if s := os.Getenv("NANOCLAW_TEST_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("NANOCLAW_TEST_SEED: %v", err)
		}
	}
	t.Logf("repeat with NANOCLAW_TEST_SEED=%d", seed)
	return seed
}

// Random is a source that a seed decides.
func Random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x6e616e6f)) }
