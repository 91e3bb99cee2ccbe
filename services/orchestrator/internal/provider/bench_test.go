package provider

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

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

const benchChunks = 10_000

// BenchmarkStream is a whole answer through the client, its connection apart,
// a chunk.
func BenchmarkStream(b *testing.B) {
	c := newTestClient(b, Config{HTTPTransport: streamOf(benchChunks)})
	yield := func(Delta) error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Stream(context.Background(), hello, yield); err != nil {
			b.Fatal(err)
		}
	}
	perChunk(b)
}

// BenchmarkStreamPlain is the same answer through go-openai alone.
func BenchmarkStreamPlain(b *testing.B) {
	cfg := openai.DefaultConfig("")
	cfg.HTTPClient = &http.Client{Transport: streamOf(benchChunks)}
	client := openai.NewClientWithConfig(cfg)
	b.ReportAllocs()
	for b.Loop() {
		s, err := client.CreateChatCompletionStream(context.Background(), openai.ChatCompletionRequest{Model: "m"})
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for {
			r, err := s.Recv()
			if err != nil {
				break
			}
			n += len(r.Choices[0].Delta.Content)
		}
		if n != benchChunks*len(" lobster") {
			b.Fatalf("%d bytes", n)
		}
		s.Close()
	}
	perChunk(b)
}

// BenchmarkStreamRaw is the same answer through a reader of lines that reads
// nothing in them: what any client must pay.
func BenchmarkStreamRaw(b *testing.B) {
	send := streamOf(benchChunks)
	b.ReportAllocs()
	for b.Loop() {
		resp, err := send(nil)
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			n += len(lines.Bytes())
		}
		if n == 0 {
			b.Fatal("nothing was read")
		}
	}
	perChunk(b)
}

func perChunk(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchChunks), "ns/chunk")
}
