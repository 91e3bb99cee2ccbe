package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"google.golang.org/grpc"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
)

const (
	// opening is how many streams a reader opens side by side.
	opening = 16
	// warmUp is the part of a window whose chunks are not counted.
	warmUp = 0.1
	// stampDigits are those of a time in Unix nanoseconds, until the year 2286.
	stampDigits = 19
)

// readings is what a reader tells when all its streams have ended.
type readings struct {
	Chunks int           `json:"chunks"`
	P50    time.Duration `json:"p50"`
	P99    time.Duration `json:"p99"`
	// Pieces is in how many the chunks came: some come together.
	Pieces int `json:"pieces"`
}

// beReader opens streams of a kind, reads them to their end and prints what it
// read. The kinds are openai, which asks the provider itself with go-openai, and
// grpc and sse, which ask the suite.
func beReader(ctx context.Context, args []string) error {
	ctx, cancel := untilStdinEnds(ctx)
	defer cancel()
	flags := flag.NewFlagSet("read", flag.ContinueOnError)
	kind := flags.String("kind", "", "openai, grpc or sse")
	addr := flags.String("addr", "", "whom to ask: the provider's URL or the suite's gRPC address")
	web := flags.String("web", "", "the suite's HTTP address, for sse")
	file := flags.String("tokens", "", "file of tokens")
	streams := flags.Int("streams", 1, "how many")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r := &reader{web: *web, http: &http.Client{Transport: &http.Transport{}}}
	open := r.openai
	if *kind == "openai" {
		config := openai.DefaultConfig("a-key-for-benchmarks")
		config.BaseURL, config.HTTPClient = *addr+"/v1", r.http
		r.model = openai.NewClientWithConfig(config)
	} else {
		var err error
		if r.tokens, err = readTokens(*file); err != nil {
			return err
		}
		if r.conn, err = dial(*addr); err != nil {
			return err
		}
		defer r.conn.Close()
		if open = r.grpc; *kind == "sse" {
			open = r.sse
		}
	}
	fmt.Println("reading")
	got, err := readAll(ctx, *streams, open)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(got)
}

// reader asks.
type reader struct {
	model  *openai.Client
	conn   *grpc.ClientConn
	web    string
	http   *http.Client
	tokens []string
}

// stream is one that was opened: it passes on pieces of text until it ends.
type stream func(got func(text []byte)) error

// arrival is a chunk that came.
type arrival struct{ sent, took time.Duration }

// readAll opens streams and reads them to their end.
func readAll(ctx context.Context, n int, open func(ctx context.Context, n int) (stream, error)) (readings, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slots := make(chan struct{}, opening)
	arrivals, pieces := make([][]arrival, n), make([]int, n)
	var all sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			read, err := open(ctx, i)
			<-slots
			if err == nil {
				err = read(func(text []byte) {
					if found := stamps(text, time.Now(), &arrivals[i]); found > 0 {
						pieces[i]++
					}
				})
			}
			if err != nil {
				cancel(fmt.Errorf("stream %d: %w", i, err))
			}
		})
	}
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return readings{}, err
	}
	got, err := summarize(slices.Concat(arrivals...))
	for _, p := range pieces {
		got.Pieces += p
	}
	return got, err
}

// stamps adds the chunks in a text to those that came, and returns how many they
// are. Times that are not after the last one were read before.
func stamps(text []byte, now time.Time, to *[]arrival) (n int) {
	digits, value := 0, int64(0)
	for _, c := range text {
		if c >= '0' && c <= '9' {
			digits, value = digits+1, value*10+int64(c-'0')
			continue
		}
		if digits == stampDigits && c == ' ' && (len(*to) == 0 || value > int64((*to)[len(*to)-1].sent)) {
			*to = append(*to, arrival{time.Duration(value), time.Duration(now.UnixNano() - value)})
			n++
		}
		digits, value = 0, 0
	}
	return n
}

// summarize leaves the warm-up out of the percentiles.
func summarize(all []arrival) (readings, error) {
	if len(all) == 0 {
		return readings{}, errors.New("no chunk came")
	}
	slices.SortFunc(all, func(a, b arrival) int { return cmp.Compare(a.sent, b.sent) })
	got := readings{Chunks: len(all)}
	first, last := all[0].sent, all[len(all)-1].sent
	from := first + time.Duration(warmUp*float64(last-first))
	all = slices.DeleteFunc(all, func(a arrival) bool { return a.sent < from })
	slices.SortFunc(all, func(a, b arrival) int { return cmp.Compare(a.took, b.took) })
	got.P50, got.P99 = percentile(all, 0.5).took, percentile(all, 0.99).took
	return got, nil
}

func (r *reader) openai(ctx context.Context, _ int) (stream, error) {
	s, err := r.model.CreateChatCompletionStream(ctx, openai.ChatCompletionRequest{
		Model: "bench", Stream: true, Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: "Begin."}},
	})
	if err != nil {
		return nil, err
	}
	return func(got func([]byte)) error {
		defer s.Close()
		for {
			chunk, err := s.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			for _, c := range chunk.Choices {
				got([]byte(c.Delta.Content))
			}
		}
	}, nil
}

// conversation makes one for the nth stream.
func (r *reader) conversation(ctx context.Context, n int) (id, token string, err error) {
	token = r.tokens[n%len(r.tokens)]
	made, err := pb.NewConversationServiceClient(r.conn).CreateConversation(withToken(ctx, token), &pb.CreateConversationRequest{})
	return made.GetConversation().GetId(), token, err
}

func (r *reader) grpc(ctx context.Context, n int) (stream, error) {
	id, token, err := r.conversation(ctx, n)
	if err != nil {
		return nil, err
	}
	s, err := pb.NewConversationServiceClient(r.conn).StreamMessage(withToken(ctx, token), &pb.StreamMessageRequest{ConversationId: id, Content: "Begin."})
	if err != nil {
		return nil, err
	}
	if _, err := s.Recv(); err != nil { // the run has started
		return nil, err
	}
	return func(got func([]byte)) error {
		for ended := false; ; {
			e, err := s.Recv()
			switch {
			case errors.Is(err, io.EOF) && ended:
				return nil
			case err != nil:
				return err
			case e.GetError() != nil:
				return fmt.Errorf("the run failed: %v", e.GetError())
			}
			ended = ended || e.GetDone() != nil
			got([]byte(e.GetMessage().GetContent()))
		}
	}, nil
}

func (r *reader) sse(ctx context.Context, n int) (stream, error) {
	id, token, err := r.conversation(ctx, n)
	if err != nil {
		return nil, err
	}
	res, err := r.do(ctx, http.MethodPost, "/api/conversations/"+id+"/messages", token, `{"content":"Begin."}`)
	if err != nil {
		return nil, err
	}
	return func(got func([]byte)) error {
		defer res.Body.Close()
		lines := bufio.NewReader(res.Body)
		for ended := false; ; {
			line, err := lines.ReadSlice('\n')
			switch {
			case errors.Is(err, io.EOF) && ended:
				return nil
			case err != nil && !errors.Is(err, bufio.ErrBufferFull): // times are found in parts of lines too, but for one that is cut
				return err
			}
			ended = ended || bytes.Equal(bytes.TrimSpace(line), []byte("event: done"))
			got(line)
		}
	}, nil
}

// do sends a request whose answer is a stream.
func (r *reader) do(ctx context.Context, method, path, token, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+r.web+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := r.http.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		return nil, fmt.Errorf("%s: %s: %s", path, res.Status, text)
	}
	return res, nil
}
