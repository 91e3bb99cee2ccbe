package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// deadline is the time that callers here have. Nothing takes longer.
const deadline = 30 * time.Minute

// repeated is n times the same piece.
func repeated(n int, piece string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = piece
	}
	return out
}

func TestTimeIsUpWhenNothingComesAndNotBefore(t *testing.T) {
	const s = time.Second
	letters := func(text string) []string { return strings.Split(text, "") }
	comments := func(n int) []string { return repeated(n, ": keep-alive\n\n") }
	hi := func(took time.Duration) outcome { return outcome{finish: FinishStop, text: "hi", took: took} }
	silent := func(says, text string, took time.Duration) outcome {
		return outcome{kind: KindTimeout, retryable: true, says: says, text: text, took: took}
	}
	const first, idle = "no answer within 2m0s", "nothing more came for 1m0s"
	tests := []struct {
		name   string
		script []act
		want   outcome
	}{
		{"nothing is ever sent", []act{hang}, silent(first, "", 120*s)},
		{"a head that comes byte by byte, for ever", []act{drip(s, letters(head(200, "X: "+strings.Repeat("x", 9999)))...)}, silent(first, "", 120*s)},
		{"a head and then nothing", []act{send(streamHead()), hang}, silent(first, "", 120*s)},
		{"a head that comes late", []act{drip(119*s, streamHead()), send(okStream)}, hi(119 * s)},
		{"a head byte by byte, in time", []act{drip(s, letters(streamHead())...), send(okStream)}, hi(time.Duration(len(streamHead())) * s)},
		{"a first byte that comes too late", []act{send(streamHead()), drip(121*s, okStream)}, silent(first, "", 120*s)},
		{"silence after some text", []act{send(streamHead(), textOf("Well, ")), hang}, silent(idle, "Well, ", 60*s)},
		{"silence in the middle of a line", []act{send(streamHead(), textOf("Well, "), `data: {"id":"r","cho`), hang}, silent(idle, "Well, ", 60*s)},
		// net/http hands out a chunk that has begun when it is whole or at the end.
		{"silence in the middle of a chunk", []act{send(chunkedHead(), "100\r\n", textOf("Well, ")), hang}, silent(first, "Well, ", 120*s)},
		{"silence after a chunk", []act{send(chunkedHead(), chunked(textOf("Well, "))), hang}, silent(idle, "Well, ", 60*s)},
		{"silence after the reason to stop", []act{send(streamHead(), textOf("hi"), endedBy("stop")), hang}, outcome{finish: FinishStop, text: "hi", warns: "the stream ended without [DONE]", took: 60 * s}},
		{"silence after [DONE]", []act{send(streamHead(), okStream), hang}, hi(0)},
		{"silence in JSON that is not a stream", []act{send(head(200, "Content-Length: 999"), `{"choices":[`), hang}, silent(idle, "", 60*s)},

		{"ten minutes of comments, then the answer", []act{send(streamHead()), drip(s, comments(600)...), send(okStream)}, hi(600 * s)},
		{"ten minutes of comments in chunks", []act{send(chunkedHead()), drip(15*s, inChunks(comments(40))...), send(chunked(okStream), lastChunk)}, hi(600 * s)},
		{"ten minutes of comments between two words", []act{send(streamHead(), textOf("h")), drip(59*s, comments(10)...), send(textOf("i"), endedBy("stop"), doneFrame)}, hi(590 * s)},
		{"ten minutes of empty lines, then JSON", []act{send(head(200, "Connection: close")), drip(30*s, repeated(20, "\n")...), send(`{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`)}, hi(600 * s)},
		{"ten minutes of pings", []act{send(streamHead()), drip(20*s, repeated(30, "event: ping\ndata: {}\n\n")...), send(okStream)}, hi(600 * s)},
		{"ten minutes of empty deltas", []act{send(streamHead()), drip(20*s, repeated(30, textOf(""))...), send(okStream)}, hi(600 * s)},
		{"an answer byte by byte", []act{send(streamHead()), drip(10*s, letters(okStream)...)}, hi(time.Duration(len(okStream)) * 10 * s)},
		{"comments too far apart", []act{send(streamHead()), drip(61*s, comments(9)...)}, silent(idle, "", 121*s)},

		{"comments without an end", []act{send(streamHead()), drip(59*s, comments(9999)...)}, outcome{kind: KindCancelled, says: "deadline exceeded", took: deadline}},
		{"an answer byte by byte, for ever", []act{send(streamHead()), drip(50*s, letters("data: "+strings.Repeat("x", 9999))...)}, outcome{kind: KindCancelled, says: "deadline exceeded", took: deadline}},

		{"a refusal whose body never comes", []act{send(head(500, "Content-Length: 99")), hang}, outcome{kind: KindServer, retryable: true, says: "HTTP 500", took: 60 * s}},
		{"a refusal whose body comes byte by byte, for ever", []act{send(head(429, "Content-Length: 9999")), drip(25*s, letters(strings.Repeat("slow", 999))...)},
			outcome{kind: KindRateLimited, retryable: true, says: "HTTP 429", detail: "sl", took: 60 * s}},
		{"a refusal that stops in the middle", []act{send(head(401, "Content-Length: 999"), "who are you"), hang}, outcome{kind: KindAuth, says: "No API key is set", detail: "who are you", took: 60 * s}},
	}
	for _, tt := range tests {
		inBubble(t, tt.name, func(t *testing.T) []string {
			ctx, cancel := context.WithTimeout(context.Background(), deadline)
			defer cancel()
			c, _ := inMemory(t, Config{}, tt.script...)
			start := time.Now()
			resp, err := c.Stream(ctx, hello, func(Delta) error { return nil })
			return tt.want.differs(resp, err, time.Since(start))
		})
	}
}

// inChunks is every piece as a chunk.
func inChunks(pieces []string) []string {
	var out []string
	for _, p := range pieces {
		out = append(out, chunked(p))
	}
	return out
}

func TestTheTimesAreTheConfigurations(t *testing.T) {
	cfg := Config{FirstByteTimeout: 7 * time.Second, IdleTimeout: 3 * time.Second}
	for _, tt := range []struct {
		name   string
		script []act
		want   outcome
	}{
		{"before the first byte", []act{send(streamHead()), hang}, outcome{kind: KindTimeout, retryable: true, says: "no answer within 7s", took: 7 * time.Second}},
		{"after it", []act{send(streamHead(), textOf("hi")), hang}, outcome{kind: KindTimeout, retryable: true, says: "nothing more came for 3s", text: "hi", took: 3 * time.Second}},
		{"in a refusal", []act{send(head(503, "Content-Length: 9"), "full"), hang}, outcome{kind: KindOverloaded, retryable: true, says: "HTTP 503", detail: "full", took: 3 * time.Second}},
	} {
		inBubble(t, tt.name, func(t *testing.T) []string {
			c, _ := inMemory(t, cfg, tt.script...)
			start := time.Now()
			resp, _, err := ask(c, hello)
			return tt.want.differs(resp, err, time.Since(start))
		})
	}
}

func TestACallEndsWhenItsCallerGoesWhereverItIs(t *testing.T) {
	for _, tt := range []struct {
		name   string
		script []act
		text   string
	}{
		{"before the head", []act{hang}, ""},
		{"in the head", []act{send("HTTP/1.1 200"), hang}, ""},
		{"before the first byte", []act{send(streamHead()), hang}, ""},
		{"in the answer", []act{send(streamHead(), textOf("Well")), hang}, "Well"},
		{"in comments", []act{send(streamHead()), drip(time.Second, repeated(999, ": x\n\n")...)}, ""},
		{"in a refusal", []act{send(head(500, "Content-Length: 9"), "x"), hang}, ""},
	} {
		inBubble(t, tt.name, func(t *testing.T) []string {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(10500*time.Millisecond, cancel)
			c, _ := inMemory(t, Config{}, tt.script...)
			start := time.Now()
			resp, err := c.Stream(ctx, hello, func(Delta) error { return nil })
			want := outcome{kind: KindCancelled, says: "the call was cancelled", text: tt.text, took: 10500 * time.Millisecond}
			bad := want.differs(resp, err, time.Since(start))
			if !errors.Is(err, context.Canceled) {
				bad = append(bad, fmt.Sprintf("error %v", err))
			}
			return bad
		})
	}
}

func TestASlowReaderIsNotTakenForASilentEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := inMemory(t, Config{}, send(streamHead(), textOf("x"), textOf("x"), textOf("x"), okStream))
		resp, err := c.Stream(context.Background(), hello, func(Delta) error {
			time.Sleep(10 * time.Minute) // fake time
			return nil
		})
		if err != nil || resp.Text != "xxxhi" {
			t.Errorf("text %q, error %v", resp.Text, err)
		}
	})
}

func TestAnEndpointThatDoesNotReadIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wire := newTransport()
		wire.Proxy = nil
		far := make(chan net.Conn, 1)
		wire.DialContext = func(context.Context, string, string) (net.Conn, error) {
			near, other := net.Pipe() // nobody reads the other end
			far <- other
			return near, nil
		}
		c := newTestClient(t, Config{HTTPTransport: wire})
		start := time.Now()
		resp, _, err := ask(c, Request{Messages: []Message{{Role: RoleUser, Content: strings.Repeat("x", 1<<20)}}})
		want := outcome{kind: KindTimeout, retryable: true, says: "no answer within 2m0s", took: DefaultFirstByteTimeout}
		if bad := want.differs(resp, err, time.Since(start)); len(bad) > 0 {
			t.Error(strings.Join(bad, "; "))
		}
		_, _ = io.Copy(io.Discard, <-far) // ends because the client closed its end
	})
}
