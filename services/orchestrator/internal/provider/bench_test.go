package provider

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

const textFrame = `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"content":" lobster"},"finish_reason":null}]}`

// BenchmarkTextChunk is one chunk of text through parser and assembler.
func BenchmarkTextChunk(b *testing.B) {
	frame := []byte(textFrame)
	a := newAssembler(Config{MaxMessage: 1 << 60}.withDefaults(), nil)
	var r chunkReader
	yield := func(Delta) error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		c, err := r.read(frame)
		if err != nil {
			b.Fatal(err)
		}
		if err := a.add(c, yield); err != nil {
			b.Fatal(err)
		}
		a.text.Reset()
	}
}

// streamOf is a transport that answers with n chunks of text.
func streamOf(n int) transport {
	wire := strings.Repeat("data: "+textFrame+"\n\n", n) + "data: [DONE]\n\n"
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(wire))}, nil
	}
}

// BenchmarkChunks reads the same answer of 10,000 chunks of text by turns in four
// ways, its connection apart: through this client, through go-openai alone, as lines
// with their JSON, and as lines in which nothing is read, which any client must pay.
// It prints how many chunks a second of CPU time reads, and how many times those of
// the other ways they are.
func BenchmarkChunks(b *testing.B) {
	const chunks = 10_000
	send := streamOf(chunks)
	ways := []struct {
		name string
		read func(b *testing.B) (bytes int)
	}{{"client", readByClient(b, send)}, {"go-openai", readPlain(send)}, {"json", readLines(send, true)}, {"lines", readLines(send, false)}}
	spent := make([]time.Duration, len(ways))
	for b.Loop() {
		for i, way := range ways {
			before := cpuTime(b)
			if n := way.read(b); n < chunks*len(" lobster") {
				b.Fatalf("%s read %d bytes", way.name, n)
			}
			spent[i] += cpuTime(b) - before
		}
	}
	for i, way := range ways {
		rate := float64(chunks) * float64(b.N) / max(spent[i], time.Microsecond).Seconds()
		figure(b, way.name, math.Round(rate), "chunks/s", "")
		if i > 0 {
			figure(b, ways[0].name, math.Round(float64(spent[i])/float64(max(spent[0], 1))*1000)/1000, "x", way.name)
		}
	}
	b.ReportMetric(float64(spent[0].Nanoseconds())/float64(b.N*chunks), "cpu-ns/chunk")
	b.ReportMetric(0, "ns/op") // of all ways together: it says nothing
}

func readByClient(b *testing.B, send transport) func(*testing.B) int {
	c := newTestClient(b, Config{HTTPTransport: send})
	return func(b *testing.B) int {
		resp, err := c.Stream(context.Background(), hello, func(Delta) error { return nil })
		if err != nil {
			b.Fatal(err)
		}
		return len(resp.Text)
	}
}

func readPlain(send transport) func(*testing.B) int {
	cfg := openai.DefaultConfig("")
	cfg.HTTPClient = &http.Client{Transport: send}
	client := openai.NewClientWithConfig(cfg)
	return func(b *testing.B) (n int) {
		s, err := client.CreateChatCompletionStream(context.Background(), openai.ChatCompletionRequest{Model: "m"})
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		for {
			r, err := s.Recv()
			if errors.Is(err, io.EOF) {
				return n
			}
			if err != nil {
				b.Fatal(err)
			}
			n += len(r.Choices[0].Delta.Content)
		}
	}
}

func readLines(send transport, decode bool) func(*testing.B) int {
	return func(b *testing.B) (n int) {
		resp, err := send(nil)
		if err != nil {
			b.Fatal(err)
		}
		var c struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			frame, _ := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
			switch {
			case !decode:
				n += len(frame)
			case json.Unmarshal(frame, &c) == nil:
				n += len(c.Choices[0].Delta.Content)
			}
		}
		return n
	}
}

// figure prints a figure of make bench: chunks a second of CPU time, or how many
// times those of another way they are.
func figure(b *testing.B, way string, value float64, unit, to string) {
	b.Helper()
	line := map[string]any{"bench": "provider.chunks." + way, "metric": "per CPU second", "value": value, "unit": unit}
	if to != "" {
		line["ratio_to"] = to
	}
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		b.Error(err)
	}
}

// cpuTime is what this process has used.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
