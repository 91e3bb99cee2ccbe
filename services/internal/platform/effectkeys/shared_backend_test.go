//go:build backends

package effectkeys

import (
	"context"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

func TestAProcessThatComesBackFinishesWhatItBegan(t *testing.T) {
	db := open(t)
	slow, other := New(db, "own_1"), New(db, "own_2")
	begin(t, slow, key("k"), "h")
	die(t, db, "own_1")
	have(t, other, key("k"), toolkit.Record{State: toolkit.StateLost, ArgsHash: "h"})
	end := toolkit.Record{State: toolkit.StateFinished, ArgsHash: "h", Result: &toolkit.StoredResult{ContentJSON: "{}"}}
	if err := slow.Finish(t.Context(), key("k"), end); err != nil {
		t.Fatal(err)
	}
	have(t, other, key("k"), end)
}

func TestRunSaysThatAProcessLives(t *testing.T) {
	db := open(t)
	s, other := New(db, "own_1"), New(db, "own_2")
	begin(t, s, key("k"), "h")
	die(t, db, "own_1")
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx) }()
	for {
		got, err := other.Get(t.Context(), key("k"))
		if err != nil {
			t.Fatal(err)
		}
		if got.State == toolkit.StateRunning {
			break
		}
	}
	stop()
	<-done
}

func TestCallsOfAProcessLongGoneAreMarkedAndForgotten(t *testing.T) {
	db := open(t)
	gone, s := New(db, "own_1"), New(db, "own_2")
	begin(t, gone, key("k"), "h")
	begin(t, s, key("mine"), "h")
	die(t, db, "own_1")
	if err := s.Clean(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	have(t, s, key("k"), toolkit.Record{State: toolkit.StateLost, ArgsHash: "h"})
	have(t, s, key("mine"), toolkit.Record{State: toolkit.StateRunning, ArgsHash: "h"})
	n, err := db.Read().NewSelect().Model((*OwnerRow)(nil)).Count(t.Context())
	if err != nil || n != 1 {
		t.Errorf("%d processes are known, %v", n, err)
	}
	if err := s.Clean(t.Context(), time.Now().Add(2*Retention)); err != nil {
		t.Fatal(err)
	}
	have(t, s, key("k"), toolkit.Record{State: toolkit.StateUnknown})
}
