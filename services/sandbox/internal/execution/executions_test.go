package execution

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/execution/executiontest"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/isolate"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// newExecutions makes a set on a driver, with keys in memory.
func newExecutions(t *testing.T, d *executiontest.Driver) (*Executions, toolkit.KeyStore) {
	t.Helper()
	keys := toolkit.NewMemoryKeyStore(toolkit.MemoryKeyStoreConfig{})
	e := NewExecutions(newRunner(t, d), keys)
	t.Cleanup(e.Close)
	return e, keys
}

func start(t *testing.T, ctx context.Context, e *Executions, key, code string) *Execution {
	t.Helper()
	x, err := e.Start(ctx, "user/ann", key, Request{User: "ann", Language: Python, Code: code})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// end waits for the end of an execution.
func end(t *testing.T, x *Execution) (Result, string, error) {
	t.Helper()
	var stdout []byte
	err := x.Output.Follow(context.Background(), func(out, _ []byte) error { stdout = append(stdout, out...); return nil })
	if err != nil {
		t.Fatal(err)
	}
	<-x.Done()
	result, err := x.Result()
	return result, string(stdout), err
}

// echo prints its code, and then waits for the go.
func echo(free <-chan struct{}) func(context.Context, isolate.Spec) (isolate.Result, error) {
	return func(ctx context.Context, s isolate.Spec) (isolate.Result, error) {
		_, _ = io.WriteString(s.Stdout, executiontest.Code(s))
		select {
		case <-free:
			return isolate.Result{Status: isolate.StatusOK}, nil
		case <-ctx.Done():
			return isolate.Result{Status: isolate.StatusCancelled}, nil
		}
	}
}

func TestEqualKeysMeanOneExecution(t *testing.T) {
	free := make(chan struct{})
	d := &executiontest.Driver{Program: echo(free)}
	e, _ := newExecutions(t, d)
	ctx, cancel := context.WithCancel(t.Context())
	first := start(t, ctx, e, "k", "hello")
	<-first.Started()
	cancel() // its caller leaves; it goes on
	if second := start(t, t.Context(), e, "k", "hello"); second != first {
		t.Error("a second request does not attach")
	}
	if _, err := e.Start(t.Context(), "user/ann", "k", Request{User: "ann", Language: Python, Code: "other"}); !errors.Is(err, ErrKeyReused) {
		t.Errorf("other code under the key of a running program: %v", err)
	}
	bob, err := e.Start(t.Context(), "user/bob", "k", Request{User: "bob", Language: Python, Code: "hello"})
	if err != nil || bob == first {
		t.Errorf("the key of another user: %v", err)
	}
	close(free)
	for range 2 { // also a reader who comes late gets all of it
		if result, stdout, err := end(t, first); err != nil || result.Status != isolate.StatusOK || stdout != "hello" {
			t.Errorf("%+v, %q, %v", result, stdout, err)
		}
	}
	_, _, _ = end(t, bob)
	result, stdout, err := end(t, start(t, t.Context(), e, "k", "hello"))
	if err != nil || result.Stdout.String() != "hello" || stdout != "" {
		t.Errorf("after its end: %+v, %q, %v", result, stdout, err)
	}
	if _, _, err := end(t, start(t, t.Context(), e, "k", "other")); !errors.Is(err, ErrKeyReused) {
		t.Errorf("other code under the key of an ended program: %v", err)
	}
	if n := len(d.Specs()); n != 2 {
		t.Errorf("%d programs were run", n)
	}
}

func TestWithoutAKeyTheProgramEndsWithItsCaller(t *testing.T) {
	e, _ := newExecutions(t, &executiontest.Driver{Program: untilKilled})
	ctx, cancel := context.WithCancel(t.Context())
	x := start(t, ctx, e, "", "x")
	<-x.Started()
	cancel()
	if result, _, err := end(t, x); err != nil || result.Status != isolate.StatusCancelled {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestACallerWhoLeavesTheQueueHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &executiontest.Driver{Program: untilKilled}
		e, _ := newExecutions(t, d)
		ctx, cancel := context.WithCancel(t.Context())
		start(t, ctx, e, "", "one")
		start(t, ctx, e, "", "two")
		synctest.Wait() // both places are taken
		waiting, leave := context.WithCancel(t.Context())
		x := start(t, waiting, e, "", "three")
		synctest.Wait()
		leave()
		if _, _, err := end(t, x); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		cancel()
		synctest.Wait()
		if n := len(d.Specs()); n != 2 {
			t.Errorf("%d programs were run", n)
		}
	})
}

func TestAProgramWhoseProcessDiedIsLost(t *testing.T) {
	d := &executiontest.Driver{}
	e, keys := newExecutions(t, d)
	hash, err := Request{User: "ann", Language: Python, Code: "x"}.hash()
	if err != nil {
		t.Fatal(err)
	}
	begin := func(key string, ends ...toolkit.State) {
		t.Helper()
		k := toolkit.Key{Caller: "user/ann", Tool: "Execute", EffectKey: key}
		if _, begun, err := keys.Begin(t.Context(), k, hash); err != nil || !begun {
			t.Fatal(begun, err)
		}
		for _, state := range ends {
			if err := keys.Finish(t.Context(), k, toolkit.Record{State: state, ArgsHash: hash}); err != nil {
				t.Fatal(err)
			}
		}
	}
	begin("lost", toolkit.StateLost)
	begin("elsewhere")
	result, _, err := end(t, start(t, t.Context(), e, "lost", "x"))
	if err != nil || result.Status != StatusLost || !strings.Contains(result.Message, "Look at the files") {
		t.Errorf("%+v, %v", result, err)
	}
	if _, _, err := end(t, start(t, t.Context(), e, "elsewhere", "x")); !errors.Is(err, ErrElsewhere) {
		t.Error(err)
	}
	if n := len(d.Specs()); n != 0 {
		t.Errorf("%d programs were run", n)
	}
}

func TestARefusedProgramMayBeTriedAgainUnderItsKey(t *testing.T) {
	d := &executiontest.Driver{}
	e, _ := newExecutions(t, d)
	e.runner.Queue = fullQueue(t)
	if _, _, err := end(t, start(t, t.Context(), e, "k", "x")); err == nil {
		t.Fatal("a full queue takes it")
	}
	e.runner = newRunner(t, d)
	if result, _, err := end(t, start(t, t.Context(), e, "k", "x")); err != nil || result.Status != isolate.StatusOK {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestTheEndOfTheServiceEndsItsPrograms(t *testing.T) {
	d := &executiontest.Driver{Program: untilKilled}
	e, keys := newExecutions(t, d)
	plain, keyed := start(t, t.Context(), e, "", "one"), start(t, t.Context(), e, "k", "two")
	<-plain.Started()
	<-keyed.Started()
	waiting := start(t, t.Context(), e, "queued", "three") // there are two places
	e.Close()
	for _, x := range []*Execution{plain, keyed, waiting} {
		if _, _, err := end(t, x); !errors.Is(err, ErrShutdown) {
			t.Error(err)
		}
	}
	if _, err := e.Start(t.Context(), "user/ann", "", Request{}); !errors.Is(err, ErrShutdown) {
		t.Errorf("a new program: %v", err)
	}
	rec, err := keys.Get(t.Context(), toolkit.Key{Caller: "user/ann", Tool: "Execute", EffectKey: "k"})
	if err != nil || rec.State != toolkit.StateLost {
		t.Errorf("%+v, %v", rec, err)
	}
}

// awayKeys cannot be reached, from a time on.
type awayKeys struct {
	toolkit.KeyStore
	mu   sync.Mutex
	left int
}

var errAway = errors.New("the database is away")

func (k *awayKeys) ok() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left--
	return k.left >= 0
}

func (k *awayKeys) Begin(ctx context.Context, key toolkit.Key, hash string) (toolkit.Record, bool, error) {
	if !k.ok() {
		return toolkit.Record{}, false, errAway
	}
	return k.KeyStore.Begin(ctx, key, hash)
}

func (k *awayKeys) Finish(ctx context.Context, key toolkit.Key, end toolkit.Record) error {
	if !k.ok() {
		return errAway
	}
	return k.KeyStore.Finish(ctx, key, end)
}

func TestWhatCannotBeRememberedIsNotRun(t *testing.T) {
	d := &executiontest.Driver{}
	memory := toolkit.NewMemoryKeyStore(toolkit.MemoryKeyStoreConfig{})
	e := NewExecutions(newRunner(t, d), &awayKeys{KeyStore: memory})
	defer e.Close()
	if _, _, err := end(t, start(t, t.Context(), e, "k", "x")); !errors.Is(err, ErrKeys) || len(d.Specs()) != 0 {
		t.Errorf("%v; %d programs were run", err, len(d.Specs()))
	}
	// One whose end cannot be recorded is known to its readers.
	e = NewExecutions(newRunner(t, d), &awayKeys{KeyStore: memory, left: 1})
	defer e.Close()
	if result, _, err := end(t, start(t, t.Context(), e, "k2", "x")); err != nil || result.Status != isolate.StatusOK {
		t.Errorf("%+v, %v", result, err)
	}
	e = NewExecutions(newRunner(t, d), memory)
	defer e.Close()
	if _, _, err := end(t, start(t, t.Context(), e, "k2", "x")); !errors.Is(err, ErrElsewhere) || len(d.Specs()) != 1 {
		t.Errorf("afterwards: %v; %d programs were run", err, len(d.Specs()))
	}
}
