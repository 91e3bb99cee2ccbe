// Package output takes what a program writes: all of it for those who follow it
// from the beginning, and the beginning and the end as text for people and
// models.
package output

import (
	"context"
	"sync"
	"time"
)

const (
	// LiveBytes is how far a stream may be ahead of those who follow it, and what
	// is kept of it for those who come late.
	LiveBytes = 1 << 20
	// EdgeBytes are kept of the beginning and of the end of each stream.
	EdgeBytes = 64 << 10
)

// Capture takes the output of one program. Writing waits for the readers that
// were attached, so that they are given everything, until [Capture.Rush]; it
// waits for nobody when nobody is attached. It is safe for concurrent use.
type Capture struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced at every change
	room    sync.Cond     // signalled when a reader has gone on
	ended   bool
	rushed  bool
	waited  time.Duration
	readers map[*Reader]struct{}
	streams [2]stream
}

// The two streams of a program.
const (
	stdout = iota
	stderr
)

// NewCapture makes an empty capture.
func NewCapture() *Capture {
	c := &Capture{changed: make(chan struct{}), readers: map[*Reader]struct{}{}}
	c.room.L = &c.mu
	return c
}

// Stdout takes the standard output. Its Write never fails.
func (c *Capture) Stdout() Writer { return Writer{c, stdout} }

// Stderr takes the standard error. Its Write never fails.
func (c *Capture) Stderr() Writer { return Writer{c, stderr} }

// Writer is one stream of a capture.
type Writer struct {
	c *Capture
	i int
}

// Write implements io.Writer.
func (w Writer) Write(p []byte) (int, error) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	for left := p; len(left) > 0; {
		piece := left[:min(len(left), blockBytes)]
		w.c.await(w.i, len(piece))
		w.c.streams[w.i].write(piece, w.c.slowest(w.i))
		w.c.signal()
		left = left[len(piece):]
	}
	return len(p), nil
}

// await waits until n bytes more do not leave a reader behind. The caller holds
// c.mu.
func (c *Capture) await(i, n int) {
	behind := func() bool { return c.streams[i].total+int64(n)-c.slowest(i) > LiveBytes }
	if c.rushed || !behind() {
		return
	}
	begun := time.Now()
	for !c.rushed && behind() {
		c.room.Wait()
	}
	c.waited += time.Since(begun)
}

// slowest is how far the reader is that is the least far; the end when there is
// none. The caller holds c.mu.
func (c *Capture) slowest(i int) int64 {
	at := c.streams[i].total
	for r := range c.readers {
		at = min(at, r.at[i])
	}
	return at
}

func (c *Capture) signal() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// Rush says that the program is dead or is to die: from now on writing waits for
// nobody. What comes still, which is little, is kept for the readers all the same.
func (c *Capture) Rush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rushed = true
	c.room.Broadcast()
}

// End says that nothing more will be written.
func (c *Capture) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.signal()
}

// Waited is how long the program was held up by its readers.
func (c *Capture) Waited() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waited
}

// Texts are both streams as texts.
func (c *Capture) Texts() (out, err Text) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.streams[stdout].text(), c.streams[stderr].text()
}

// Follow attaches a reader and follows.
func (c *Capture) Follow(ctx context.Context, send func(stdout, stderr []byte) error) error {
	r := c.Attach()
	defer r.Close()
	return r.Follow(ctx, send)
}
