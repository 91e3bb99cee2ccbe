package provider

import (
	"context"
	"fmt"
	"io"
	"time"
)

// silenceError is the cause of a call that was ended because its endpoint sent
// nothing for too long.
type silenceError struct {
	limit time.Duration
	began bool // something had arrived before
}

func (e *silenceError) Error() string {
	if e.began {
		return fmt.Sprintf("nothing more came for %s", e.limit)
	}
	return fmt.Sprintf("no answer within %s", e.limit)
}

// Timeout marks the error as a passed time limit.
func (e *silenceError) Timeout() bool { return true }

// watchdog ends a call whose endpoint is silent. It counts bytes, not events:
// comments keep a healthy call alive (openclaw#152535). Between reads it does
// not run, so a slow consumer is never taken for a slow endpoint.
type watchdog struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	first  time.Duration
	idle   time.Duration
	timer  *time.Timer
}

// newWatchdog starts the wait for the first byte.
func newWatchdog(parent context.Context, first, idle time.Duration) *watchdog {
	ctx, cancel := context.WithCancelCause(parent)
	w := &watchdog{ctx: ctx, cancel: cancel, first: first, idle: idle}
	w.timer = time.AfterFunc(first, func() { cancel(&silenceError{limit: first}) })
	return w
}

// stop ends the watch and everything that runs under its context.
func (w *watchdog) stop() {
	w.timer.Stop()
	w.cancel(context.Canceled)
}

// watch returns body with its reads timed.
func (w *watchdog) watch(body io.ReadCloser) io.ReadCloser {
	return &watchedBody{ReadCloser: body, dog: w}
}

type watchedBody struct {
	io.ReadCloser
	dog   *watchdog
	began bool
}

func (b *watchedBody) Read(p []byte) (int, error) {
	w := b.dog
	if b.began {
		w.timer.Reset(w.idle)
	}
	n, err := b.ReadCloser.Read(p)
	if n > 0 && !b.began && w.timer.Stop() {
		b.began = true
		w.timer = time.AfterFunc(w.idle, func() { w.cancel(&silenceError{limit: w.idle, began: true}) })
	}
	if b.began {
		w.timer.Stop()
	}
	return n, err
}

func (b *watchedBody) Close() error {
	b.dog.stop()
	return b.ReadCloser.Close()
}
