package isolate

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// pumps carry a program's streams, all at once, so that a program that fills
// one is never held up by another.
type pumps struct {
	run  *run
	done sync.WaitGroup
}

// pump starts carrying.
func (r *run) pump() *pumps {
	p := &pumps{run: r}
	if r.ends.stdin != nil {
		// Not waited for: only the reader can end a Read.
		go func() {
			_, _ = io.Copy(r.ends.stdin, r.spec.Stdin)
			_ = r.ends.stdin.Close()
		}()
	}
	p.done.Go(func() { p.carry(r.spec.Stdout, r.ends.stdout) })
	p.done.Go(func() { p.carry(io.MultiWriter(&r.stderrHead, r.spec.Stderr), r.ends.stderr) })
	return p
}

// carry copies one stream. Bytes beyond the limit end the program and are
// thrown away.
func (p *pumps) carry(to io.Writer, from *os.File) {
	limit := p.run.spec.Limits.OutputBytes
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			before := p.run.output.Add(int64(n)) - int64(n)
			room := max(limit-before, 0)
			if room < int64(n) {
				p.run.end(StatusOutputLimit, fmt.Sprintf("it wrote more than %s to its output", byteWords(limit)))
			}
			if part := buffer[:min(int64(n), room)]; len(part) > 0 && to != nil {
				if _, err := to.Write(part); err != nil {
					to = nil
				}
			}
		}
		if err != nil {
			return
		}
	}
}

// finish takes what is still in the pipes. When everybody who could write to
// them is gone they have an end; else nothing more is waited for.
func (p *pumps) finish(gone bool) {
	if p.run.spec.Ended != nil {
		p.run.spec.Ended()
	}
	if !gone {
		_ = p.run.ends.stdout.SetReadDeadline(time.Now())
		_ = p.run.ends.stderr.SetReadDeadline(time.Now())
	}
	if p.run.ends.stdin != nil {
		_ = p.run.ends.stdin.Close()
	}
	p.done.Wait()
}

// head keeps the first bytes that are written to it.
type head struct {
	mu sync.Mutex
	b  []byte
}

func (h *head) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if room := 512 - len(h.b); room > 0 {
		h.b = append(h.b, b[:min(len(b), room)]...)
	}
	return len(b), nil
}

func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.b)
}
