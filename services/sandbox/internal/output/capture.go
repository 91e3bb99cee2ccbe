// Package output takes what a program writes: a bounded part of it for those who
// follow, and the beginning and the end as text for people and models.
package output

import (
	"context"
	"slices"
	"sync"
)

const (
	// LiveBytes of each stream are kept for those who follow it.
	LiveBytes = 1 << 20
	// EdgeBytes are kept of the beginning and of the end of each stream.
	EdgeBytes = 64 << 10
)

// Capture takes the output of one program. Writing to it never waits for a
// reader. It is safe for concurrent use.
type Capture struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced at every change
	ended   bool
	streams [2]stream
}

// The two streams of a program.
const (
	stdout = iota
	stderr
)

// stream is what is kept of one stream.
type stream struct {
	live  []byte // the first LiveBytes
	tail  []byte // the last EdgeBytes beyond them, as a ring
	at    int    // where the ring begins
	total int64
}

// NewCapture makes an empty capture.
func NewCapture() *Capture { return &Capture{changed: make(chan struct{})} }

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
	if len(p) == 0 {
		return 0, nil
	}
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	if w.c.streams[w.i].write(p) {
		w.c.signal()
	}
	return len(p), nil
}

// write keeps p and reports whether there is more for those who follow.
func (s *stream) write(p []byte) bool {
	s.total += int64(len(p))
	n := min(len(p), LiveBytes-len(s.live))
	s.live = append(s.live, p[:n]...)
	p = p[n:]
	if len(p) > EdgeBytes {
		p = p[len(p)-EdgeBytes:]
	}
	if room := min(EdgeBytes-len(s.tail), len(p)); room > 0 {
		s.tail = append(s.tail, p[:room]...)
		p = p[room:]
	}
	for len(p) > 0 {
		n := copy(s.tail[s.at:], p)
		s.at = (s.at + n) % EdgeBytes
		p = p[n:]
	}
	return n > 0
}

func (c *Capture) signal() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// End says that nothing more will be written.
func (c *Capture) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.signal()
}

// pieceBytes is the most that a reader gets of a stream at once.
const pieceBytes = 256 << 10

// Follow gives a reader all that is kept of both streams, from the beginning,
// until the program has ended or ctx does. What is not kept is left out at the
// end. send is called from this goroutine with new bytes of one stream or both,
// which it must not modify; its error ends the following.
func (c *Capture) Follow(ctx context.Context, send func(stdout, stderr []byte) error) error {
	var at [2]int
	for {
		var fresh [2][]byte
		c.mu.Lock()
		for i, s := range c.streams {
			end := min(len(s.live), at[i]+pieceBytes)
			fresh[i] = s.live[at[i]:end:end]
			at[i] = end
		}
		ended, changed := c.ended, c.changed
		c.mu.Unlock()
		switch {
		case len(fresh[stdout])+len(fresh[stderr]) > 0:
			if err := send(fresh[stdout], fresh[stderr]); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			continue
		case ended:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Texts are both streams as texts.
func (c *Capture) Texts() (out, err Text) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.streams[stdout].text(), c.streams[stderr].text()
}

// text is the stream with its beginning and end.
func (s *stream) text() Text {
	if s.total <= 2*EdgeBytes {
		return Text{Head: Clean(s.live)}
	}
	end := append(slices.Clone(s.tail[s.at:]), s.tail[:s.at]...)
	if short := EdgeBytes - len(end); short > 0 {
		end = append(slices.Clone(s.live[len(s.live)-short:]), end...)
	}
	head, tail := wholeRunes(s.live[:EdgeBytes]), fromRune(end)
	return Text{Head: Clean(head), Tail: Clean(tail), LeftOut: s.total - int64(len(head)) - int64(len(tail))}
}
