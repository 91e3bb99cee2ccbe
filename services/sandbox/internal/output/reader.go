package output

import "context"

// pieceBytes is the most that a reader gets of a stream at once.
const pieceBytes = 256 << 10

// Reader follows a capture from where it stood when the reader was attached: from
// the beginning, unless more than LiveBytes of a stream had been written. It is
// used by one goroutine.
type Reader struct {
	c    *Capture
	at   [2]int64 // guarded by c.mu
	lost int64
}

// Attach begins to hold what is written for a reader. Close must be called.
func (c *Capture) Attach() *Reader {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &Reader{c: c}
	for i := range c.streams {
		r.at[i] = c.streams[i].base
		r.lost += r.at[i]
	}
	c.readers[r] = struct{}{}
	return r
}

// Close lets go of what is held. It may be called more than once.
func (r *Reader) Close() {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	delete(r.c.readers, r)
	r.c.room.Broadcast()
}

// Lost is how many bytes had gone by before the reader was attached.
func (r *Reader) Lost() int64 { return r.lost }

// Follow gives the reader all of both streams, until the program has ended or
// ctx does. send is called from this goroutine with new bytes of one stream or
// both, which it must not modify; its error ends the following.
func (r *Reader) Follow(ctx context.Context, send func(stdout, stderr []byte) error) error {
	for {
		fresh, ended, changed := r.take()
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

// take is what is new, and what to wait for when that is nothing.
func (r *Reader) take() (fresh [2][]byte, ended bool, changed <-chan struct{}) {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	for i := range r.c.streams {
		fresh[i] = r.c.streams[i].from(r.at[i])
		r.at[i] += int64(len(fresh[i]))
	}
	r.c.room.Broadcast()
	return fresh, r.c.ended, r.c.changed
}
