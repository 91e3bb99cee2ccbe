package admission_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/admission"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// office has a queue and writes down who is served.
type office struct {
	queue *admission.Queue
	all   sync.WaitGroup

	mu      sync.Mutex
	served  []string
	refused []string
	most    int // that ran at a time
	running int
}

// send lets a program of the user come, which runs for a second.
func (o *office) send(ctx context.Context, t *testing.T, user, name, label string) {
	o.all.Go(func() {
		leave, err := o.queue.Enter(ctx, user, name)
		o.mu.Lock()
		defer o.mu.Unlock()
		if full, ok := errors.AsType[*admission.FullError](err); ok {
			if full.Retry < time.Second || full.Retry > time.Minute || full.Waiting == 0 {
				t.Errorf("%s: %+v", label, full)
			}
			o.refused = append(o.refused, label)
			return
		}
		if err != nil {
			o.refused = append(o.refused, label+": "+err.Error())
			return
		}
		o.served = append(o.served, label)
		o.running++
		o.most = max(o.most, o.running)
		o.mu.Unlock()
		time.Sleep(time.Second)
		o.mu.Lock()
		o.running--
		leave()
		leave() // a second time does nothing
	})
	synctest.Wait()
}

func TestUsersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &office{queue: admission.New(1, 64)}
		for i := range 4 {
			o.send(t.Context(), t, "ann", "", fmt.Sprint("ann", i))
		}
		for i := range 2 {
			o.send(t.Context(), t, "bob", "", fmt.Sprint("bob", i))
		}
		o.send(t.Context(), t, "cat", "", "cat0")
		o.all.Wait()
		want := []string{"ann0", "ann1", "bob0", "cat0", "ann2", "bob1", "ann3"}
		if !slices.Equal(o.served, want) {
			t.Errorf("%q, want %q", o.served, want)
		}
	})
}

func TestWhoHasNothingRunningComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &office{queue: admission.New(2, 64)}
		o.send(t.Context(), t, "ann", "", "ann0")
		time.Sleep(time.Second / 2)
		o.send(t.Context(), t, "bob", "", "bob0")
		o.send(t.Context(), t, "bob", "", "bob1")
		o.send(t.Context(), t, "ann", "", "ann1")
		o.all.Wait()
		if want := []string{"ann0", "bob0", "ann1", "bob1"}; !slices.Equal(o.served, want) || o.most != 2 {
			t.Errorf("%q, want %q; %d at a time", o.served, want, o.most)
		}
	})
}

func TestTwoWhoComeAgainAndAgainDoNotStarveAThird(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &office{queue: admission.New(1, 64)}
		o.send(t.Context(), t, "ann", "", "ann")
		o.send(t.Context(), t, "ann", "", "ann")
		for i := range 10 { // there is always one of them
			o.send(t.Context(), t, []string{"bob", "cat"}[i%2], "", "other")
			time.Sleep(time.Second)
		}
		o.all.Wait()
		if i := slices.Index(o.served[1:], "ann"); i < 0 || i > 2 {
			t.Errorf("%q", o.served)
		}
	})
}

func TestProgramsWithOneNameRunOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &office{queue: admission.New(3, 64)}
		begun := time.Now()
		for range 3 {
			o.send(t.Context(), t, "ann", "ann/notes", "notes")
		}
		o.send(t.Context(), t, "ann", "ann/other", "other")
		o.send(t.Context(), t, "ann", "", "scratch")
		o.all.Wait()
		if want := []string{"notes", "other", "scratch", "notes", "notes"}; !slices.Equal(o.served, want) {
			t.Errorf("%q, want %q", o.served, want)
		}
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("took %s", took)
		}
	})
}

func TestAFullQueueRefusesTheOneWhoFillsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &office{queue: admission.New(1, 3)}
		for i := range 6 { // one runs, three wait
			o.send(t.Context(), t, "ann", "", fmt.Sprint("ann", i))
		}
		if want := []string{"ann4", "ann5"}; !slices.Equal(o.refused, want) {
			t.Fatalf("refused %q, want %q", o.refused, want)
		}
		o.send(t.Context(), t, "bob", "", "bob0") // takes the place of ann3
		o.send(t.Context(), t, "bob", "", "bob1") // would have as many as ann
		o.send(t.Context(), t, "cat", "", "cat0") // takes that of ann2
		o.all.Wait()
		if want := []string{"ann4", "ann5", "ann3", "bob1", "ann2"}; !slices.Equal(o.refused, want) {
			t.Errorf("refused %q, want %q", o.refused, want)
		}
		if want := []string{"ann0", "ann1", "bob0", "cat0"}; !slices.Equal(o.served, want) {
			t.Errorf("served %q, want %q", o.served, want)
		}
	})
}

func TestWhoDoesNotWaitAnyLongerHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &office{queue: admission.New(1, 1)}
		ctx, cancel := context.WithCancel(t.Context())
		o.send(t.Context(), t, "ann", "", "ann0")
		o.send(ctx, t, "bob", "", "bob0")
		cancel()
		synctest.Wait()
		o.send(t.Context(), t, "cat", "", "cat0")
		o.send(ctx, t, "dan", "", "dan0")
		o.all.Wait()
		if want := []string{"bob0: context canceled", "dan0: context canceled"}; !slices.Equal(o.refused, want) {
			t.Errorf("refused %q, want %q", o.refused, want)
		}
		if want := []string{"ann0", "cat0"}; !slices.Equal(o.served, want) {
			t.Errorf("served %q, want %q", o.served, want)
		}
	})
}

func TestAHundredAtOnceOverALimitOfFour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &office{queue: admission.New(4, 64)}
		for i := range 100 {
			o.send(t.Context(), t, fmt.Sprint("user", i%5), "", "x")
		}
		o.all.Wait()
		if o.most != 4 || len(o.served) != 68 || len(o.refused) != 32 {
			t.Errorf("%d at a time, %d served, %d refused", o.most, len(o.served), len(o.refused))
		}
	})
}
