package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// provider is a model provider whose streams begin, wait for a command and then
// carry chunks whose text is the time at which they were written, in Unix
// nanoseconds and with a space after it.
type provider struct {
	mu   sync.Mutex
	gate *gate

	waiting, open, sent atomic.Int64
}

// gate holds streams back until it is opened.
type gate struct {
	opened chan struct{}
	every  time.Duration
	until  time.Time
}

// providerStatus is what the provider tells.
type providerStatus struct {
	Waiting int64 `json:"waiting"` // streams that have begun and wait
	Open    int64 `json:"open"`    // streams that have not ended
	Sent    int64 `json:"sent"`    // chunks written since the start
}

const (
	chunkHead = `data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,"model":"bench","choices":[{"index":0,"delta":`
	chunkTail = "}]}\n\n"
)

// beProvider serves on a free port, whose address it prints.
func beProvider(ctx context.Context, _ []string) error {
	ctx, cancel := untilStdinEnds(ctx)
	defer cancel()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p := &provider{gate: &gate{opened: make(chan struct{})}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", p.chat)
	mux.HandleFunc("POST /go", p.start)
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(providerStatus{p.waiting.Load(), p.open.Load(), p.sent.Load()})
	})
	fmt.Println("http://" + lis.Addr().String())
	server := &http.Server{Handler: mux}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(lis); ctx.Err() == nil {
		return err
	}
	return nil
}

// start opens the gate to all streams that wait.
func (p *provider) start(w http.ResponseWriter, r *http.Request) {
	every, err1 := time.ParseDuration(r.FormValue("every"))
	window, err2 := time.ParseDuration(r.FormValue("window"))
	if err1 != nil || err2 != nil || every <= 0 {
		http.Error(w, "every and window are times over 0", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gate.every, p.gate.until = every, time.Now().Add(window)
	close(p.gate.opened)
	p.gate = &gate{opened: make(chan struct{})}
}

func (p *provider) chat(w http.ResponseWriter, r *http.Request) {
	p.open.Add(1)
	defer p.open.Add(-1)
	_, _ = io.Copy(io.Discard, r.Body)
	p.mu.Lock()
	g := p.gate
	p.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	flusher := w.(http.Flusher)
	_, _ = io.WriteString(w, chunkHead+`{"role":"assistant","content":""}`+chunkTail)
	flusher.Flush()
	p.waiting.Add(1)
	select {
	case <-g.opened:
		p.waiting.Add(-1)
	case <-r.Context().Done():
		p.waiting.Add(-1)
		return
	}
	var chunk []byte
	// The streams are not in step.
	for next := time.Now().Add(rand.N(g.every)); next.Before(g.until); next = next.Add(g.every) {
		time.Sleep(time.Until(next))
		chunk = append(chunk[:0], chunkHead+`{"content":"`...)
		chunk = strconv.AppendInt(chunk, time.Now().UnixNano(), 10)
		chunk = append(chunk, ` "}`+chunkTail...)
		if _, err := w.Write(chunk); err != nil {
			return
		}
		flusher.Flush()
		p.sent.Add(1)
	}
	time.Sleep(time.Until(g.until)) // what an end costs is no part of a chunk's way
	_, _ = io.WriteString(w, chunkHead+`{},"finish_reason":"stop"`+chunkTail+"data: [DONE]\n\n")
}

// remoteProvider commands a provider in another process.
type remoteProvider struct {
	*process
}

func startProvider(ctx context.Context) (remoteProvider, error) {
	p, err := role(ctx, "provider")
	return remoteProvider{p}, err
}

// url is the address of the provider.
func (p remoteProvider) url() string { return p.ready }

func (p remoteProvider) status(ctx context.Context) (s providerStatus, err error) {
	err = p.call(ctx, http.MethodGet, "/status", &s)
	return s, err
}

// begin opens the gate.
func (p remoteProvider) begin(ctx context.Context, l load) error {
	q := url.Values{"every": {l.every.String()}, "window": {l.window.String()}}
	return p.call(ctx, http.MethodPost, "/go?"+q.Encode(), nil)
}

func (p remoteProvider) call(ctx context.Context, method, path string, answer any) error {
	req, err := http.NewRequestWithContext(ctx, method, p.url()+path, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("provider: %s: %s", res.Status, body)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(body, answer)
}
