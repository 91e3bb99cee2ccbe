package output_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/output"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// numbered is n bytes in which every place can be told from its neighbours.
func numbered(n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%07d\n", i)
	}
	return b.Bytes()[:n]
}

// collect follows a capture to its end.
func collect(t *testing.T, c *output.Capture) (stdout, stderr []byte) {
	t.Helper()
	err := c.Follow(t.Context(), func(out, err []byte) error {
		stdout, stderr = append(stdout, out...), append(stderr, err...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return stdout, stderr
}

func TestWhatIsKeptOfAStream(t *testing.T) {
	for _, n := range []int{
		0, 1, output.EdgeBytes, output.EdgeBytes + 1, 2 * output.EdgeBytes, 2*output.EdgeBytes + 1,
		output.LiveBytes, output.LiveBytes + 1, output.LiveBytes + output.EdgeBytes - 1,
		output.LiveBytes + output.EdgeBytes, output.LiveBytes + output.EdgeBytes + 1, output.LiveBytes + 3*output.EdgeBytes + 7,
	} {
		for _, step := range []int{1 << 30, 4096, 1000} {
			t.Run(fmt.Sprintf("%d bytes in steps of %d", n, step), func(t *testing.T) {
				c := output.NewCapture()
				in := numbered(n)
				for at := 0; at < n; at += step {
					if k, err := c.Stderr().Write(in[at:min(at+step, n)]); err != nil || k != min(step, n-at) {
						t.Fatal(k, err)
					}
				}
				c.End()
				stdout, live := collect(t, c)
				if len(stdout) != 0 || !bytes.HasSuffix(in, live) || len(live) < min(n, output.LiveBytes) {
					t.Errorf("readers got %d bytes", len(live))
				}
				_, text := c.Texts()
				if n <= 2*output.EdgeBytes {
					if text.String() != string(in) || text.Truncated() {
						t.Errorf("text of %d bytes, truncated %v", len(text.String()), text.Truncated())
					}
					return
				}
				want := fmt.Sprintf("%s\n[... %d bytes left out ...]\n%s", in[:output.EdgeBytes], n-2*output.EdgeBytes, in[n-output.EdgeBytes:])
				if text.String() != want || !text.Truncated() {
					t.Errorf("text has %d bytes, want %d", len(text.String()), len(want))
				}
			})
		}
	}
}

func TestBytesReachReadersAsTheyAre(t *testing.T) {
	for name, in := range map[string]string{
		"bytes that are not UTF-8": "a\xff\xfe\xed\xa0\x80b",
		"NUL":                      "a\x00b\x00",
		"escape sequences":         "\x1b]52;c;aGk=\a\x1b[31m",
		"64 KiB and one byte":      strings.Repeat("x", 64<<10+1),
	} {
		t.Run(name, func(t *testing.T) {
			c := output.NewCapture()
			for i := range len(in) {
				_, _ = io.WriteString(c.Stdout(), in[i:i+1])
			}
			c.End()
			if stdout, _ := collect(t, c); string(stdout) != in {
				t.Errorf("%q", stdout)
			}
		})
	}
}

func TestACharacterThatIsCutIsLeftOut(t *testing.T) {
	c := output.NewCapture()
	const rune3 = "纳"
	in := "ab" + strings.Repeat(rune3, output.EdgeBytes)
	_, _ = io.WriteString(c.Stdout(), in)
	text, _ := c.Texts()
	// 64 KiB are 2 bytes, 21844 characters and 2 bytes of the next; the last
	// 64 KiB begin with 1 byte of one.
	head := "ab" + strings.Repeat(rune3, (output.EdgeBytes-2)/3)
	tail := strings.Repeat(rune3, output.EdgeBytes/3)
	if text.Head != head || text.Tail != tail || text.LeftOut != int64(len(in)-len(head)-len(tail)) {
		t.Errorf("%d + %d + %d bytes of %d", len(text.Head), text.LeftOut, len(text.Tail), len(in))
	}
}

func TestAReaderIsGivenEverythingAndHoldsTheProgramUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := output.NewCapture()
		r := c.Attach() // before the first byte
		in := numbered(4 * output.LiveBytes)
		var written sync.WaitGroup
		written.Go(func() {
			_, _ = c.Stdout().Write(in)
			c.End()
		})
		synctest.Wait()
		time.Sleep(3 * time.Second) // the reader is busy elsewhere
		var got []byte
		err := r.Follow(t.Context(), func(stdout, _ []byte) error { got = append(got, stdout...); return nil })
		if err != nil || !bytes.Equal(got, in) {
			t.Errorf("the reader got %d of %d bytes, %v", len(got), len(in), err)
		}
		written.Wait()
		if w := c.Waited(); w != 3*time.Second {
			t.Errorf("the program waited for %s", w)
		}
	})
}

func TestNobodyIsWaitedFor(t *testing.T) {
	in := numbered(4 * output.LiveBytes)
	for _, tc := range []struct {
		name string
		end  func(*output.Capture, *output.Reader)
	}{
		{"when the reader leaves", func(_ *output.Capture, r *output.Reader) { r.Close(); r.Close() }},
		{"when the program is dead", func(c *output.Capture, _ *output.Reader) { c.Rush() }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := output.NewCapture()
				r := c.Attach()
				var written sync.WaitGroup
				written.Go(func() { _, _ = c.Stderr().Write(in) })
				synctest.Wait() // it is full
				tc.end(c, r)
				written.Wait()
			})
		})
	}
}

func TestWhatWasInThePipesOfADeadProgramIsNotLost(t *testing.T) {
	c := output.NewCapture()
	r := c.Attach()
	defer r.Close()
	in := numbered(output.LiveBytes + 200<<10)
	_, _ = c.Stdout().Write(in[:output.LiveBytes])
	c.Rush()
	_, _ = c.Stdout().Write(in[output.LiveBytes:])
	c.End()
	var got []byte
	err := r.Follow(t.Context(), func(stdout, _ []byte) error { got = append(got, stdout...); return nil })
	if err != nil || !bytes.Equal(got, in) || r.Lost() != 0 {
		t.Errorf("%d of %d bytes, %v", len(got), len(in), err)
	}
}

func TestWhoComesLateIsToldWhatHasGoneBy(t *testing.T) {
	c := output.NewCapture()
	in := numbered(3 * output.LiveBytes)
	_, _ = c.Stdout().Write(in)
	c.End()
	r := c.Attach()
	defer r.Close()
	var got []byte
	err := r.Follow(t.Context(), func(stdout, _ []byte) error { got = append(got, stdout...); return nil })
	if err != nil || len(got) < output.LiveBytes || !bytes.Equal(got, in[r.Lost():]) {
		t.Errorf("%d bytes after %d, %v", len(got), r.Lost(), err)
	}
}

func TestFollowingEndsEarly(t *testing.T) {
	c := output.NewCapture()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Follow(ctx, func(_, _ []byte) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("a reader who left: %v", err)
	}
	_, _ = io.WriteString(c.Stdout(), "x")
	if err := c.Follow(t.Context(), func(_, _ []byte) error { return io.ErrClosedPipe }); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a reader who cannot be reached: %v", err)
	}
}
