package provider

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// act is one thing that a faulty endpoint does with its connection. An error ends
// the script: the client has gone.
type act func(net.Conn) error

// send writes bytes.
func send(pieces ...string) act {
	return func(c net.Conn) error {
		_, err := io.WriteString(c, strings.Join(pieces, ""))
		return err
	}
}

// drip writes piece by piece, each after a wait.
func drip(gap time.Duration, pieces ...string) act {
	return func(c net.Conn) error {
		for _, p := range pieces {
			time.Sleep(gap) // in fake time
			if _, err := io.WriteString(c, p); err != nil {
				return err
			}
		}
		return nil
	}
}

// pour writes what r holds.
func pour(r io.Reader) act {
	return func(c net.Conn) error {
		_, err := io.Copy(c, r)
		return err
	}
}

// hang says nothing more until the client goes.
func hang(c net.Conn) error {
	_, _ = io.Copy(io.Discard, c)
	return errors.New("the client has gone")
}

// reset ends the connection as a crash does, with RST in place of FIN.
func reset(c net.Conn) error {
	switch c := c.(type) {
	case *net.TCPConn:
		return c.SetLinger(0)
	case *pipeEnd:
		c.reset.Store(true)
	}
	return nil
}

// head is a status line with headers, each "Name: value".
func head(status int, headers ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	return b.String() + "\r\n"
}

// streamHead is the head of an event stream whose end is the connection's.
func streamHead() string { return head(200, "Content-Type: text/event-stream", "Connection: close") }

// chunkedHead is the head of an event stream in chunks.
func chunkedHead() string {
	return head(200, "Content-Type: text/event-stream", "Transfer-Encoding: chunked")
}

// chunked is one chunk of a body.
func chunked(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

const lastChunk = "0\r\n\r\n"

// textOf is a frame with a piece of text.
func textOf(s string) string {
	return fmt.Sprintf(`data: {"id":"r","choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}`+"\n\n", s)
}

// endedBy is a frame with the reason to stop.
func endedBy(finish string) string {
	return fmt.Sprintf(`data: {"id":"r","choices":[{"index":0,"delta":{},"finish_reason":%q}]}`+"\n\n", finish)
}

const doneFrame = "data: [DONE]\n\n"

// faultServer is an endpoint that reads each request whole and then plays its
// script on the connection, byte for byte. It speaks real HTTP/1.1 with the real
// transport, over pipes in memory (so that its clock may be a fake one) or over
// loopback.
type faultServer struct {
	script []act
	open   sync.WaitGroup
	asked  atomic.Int32
}

// play serves one connection.
func (s *faultServer) play(c net.Conn) {
	defer s.open.Done()
	defer func() { _ = c.Close() }()
	req, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return
	}
	s.asked.Add(1)
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return
	}
	for _, do := range s.script {
		if do(c) != nil {
			return
		}
	}
}

// inMemory returns a client of a faulty endpoint at the other end of a pipe.
func inMemory(t testing.TB, cfg Config, script ...act) (*Client, *faultServer) {
	t.Helper()
	s := &faultServer{script: script}
	wire := newTransport()
	wire.Proxy = nil
	wire.DialContext = func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		end := &pipeEnd{Conn: server}
		s.open.Add(1)
		go s.play(end)
		return &pipeClient{Conn: client, server: end}, nil
	}
	cfg.HTTPTransport = wire
	t.Cleanup(func() { wire.CloseIdleConnections(); s.open.Wait() })
	return newTestClient(t, cfg), s
}

// onLoopback returns a client of a faulty endpoint behind a real port.
func onLoopback(t testing.TB, cfg Config, script ...act) (*Client, *faultServer) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &faultServer{script: script}
	s.open.Add(1)
	go func() {
		defer s.open.Done()
		for {
			c, err := lis.Accept()
			if err != nil {
				return
			}
			s.open.Add(1)
			go s.play(c)
		}
	}()
	t.Cleanup(func() { _ = lis.Close(); s.open.Wait() })
	cfg.APIURL = "http://" + lis.Addr().String()
	return newTestClient(t, cfg), s
}

// pipeEnd is the server's end of a pipe; a pipe knows no RST by itself.
type pipeEnd struct {
	net.Conn
	reset atomic.Bool
}

// pipeClient is the client's end.
type pipeClient struct {
	net.Conn
	server *pipeEnd
}

func (c *pipeClient) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil && c.server.reset.Load() {
		err = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	}
	return n, err
}

// outcome is what must come of a call. The zero value of a field that is not
// told is what must be there: no text, no calls, no wait.
type outcome struct {
	kind      Kind // empty: the call succeeds
	finish    Finish
	text      string
	reasoning string
	calls     []Call
	retryable bool
	says      string // part of the error's message
	detail    string // all of the provider's words
	warns     string // part of a warning; empty: there is none
	took      time.Duration
}

// differs lists what is not as it must be. took is compared in fake time only.
func (want outcome) differs(resp Response, err error, took time.Duration) (bad []string) {
	say := func(ok bool, format string, args ...any) {
		if !ok {
			bad = append(bad, fmt.Sprintf(format, args...))
		}
	}
	if want.kind == "" {
		say(err == nil, "error %v", err)
		say(resp.Finish == want.finish, "finish %s, not %s", resp.Finish, want.finish)
		warned := strings.Join(resp.Warnings, "; ")
		say(want.warns == "" && warned == "" || want.warns != "" && strings.Contains(warned, want.warns), "warnings %q, not %q", warned, want.warns)
		say(sameCallList(resp.Calls, want.calls), "calls %+v, not %+v", resp.Calls, want.calls)
	} else if e, ok := errors.AsType[*Error](err); !ok {
		say(false, "error %T %v, not %s", err, err, want.kind)
	} else {
		say(e.Kind == want.kind, "kind %s, not %s", e.Kind, want.kind)
		say(e.Retryable() == want.retryable, "retryable %v", e.Retryable())
		say(e.Detail == want.detail, "detail %q, not %q", e.Detail, want.detail)
		say(strings.Contains(e.Message, want.says), "message %q, without %q", e.Message, want.says)
		say(strings.Contains(e.Message, "test-model") && strings.Contains(e.Message, "/chat/completions"), "message %q does not say which model and where", e.Message)
		say(len(e.Message) < 2000, "message of %d bytes", len(e.Message))
	}
	say(resp.Text == want.text, "text %q, not %q", resp.Text, want.text)
	say(resp.Reasoning == want.reasoning, "reasoning %q, not %q", resp.Reasoning, want.reasoning)
	say(took == want.took, "took %s, not %s", took, want.took)
	return bad
}

func sameCallList(got, want []Call) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range want {
		if got[i].ID != want[i].ID || got[i].Name != want[i].Name || got[i].Arguments != want[i].Arguments {
			return false
		}
	}
	return true
}

// inBubble runs f under a fake clock and reports what it finds wrong. The bubble
// ends a test that fails inside it; this one goes on with its next row.
func inBubble(t *testing.T, name string, f func(t *testing.T) []string) {
	t.Helper()
	var bad []string
	synctest.Test(t, func(t *testing.T) { bad = f(t) })
	if len(bad) > 0 {
		t.Errorf("%s: %s", name, strings.Join(bad, "; "))
	}
}
