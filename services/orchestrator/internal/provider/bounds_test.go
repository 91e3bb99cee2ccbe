package provider

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/sampletest"
)

// raced reports whether the race detector is on. It drops what sync.Pool keeps, so
// that what is allocated then says nothing.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// endless hands out unit over and over, total bytes in all, without holding
// them.
type endless struct {
	unit  string
	total int64
	off   int
}

// times is n times unit.
func times(n int, unit string) *endless {
	return &endless{unit: unit, total: int64(n) * int64(len(unit))}
}

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && e.total > 0 {
		k := copy(p[n:], e.unit[e.off:])
		k = int(min(int64(k), e.total))
		n, e.off, e.total = n+k, (e.off+k)%len(e.unit), e.total-int64(k)
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// scale reads a body and weighs the heap every so often: what is alive in the
// middle of an answer.
type scale struct {
	io.Reader
	left int
	most uint64
}

// between is how many bytes are read from one weighing to the next.
const between = 4 << 20

func (s *scale) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if s.left -= n; s.left <= 0 || err != nil {
		s.left = between
		s.weigh()
	}
	return n, err
}

func (s *scale) weigh() {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	s.most = max(s.most, m.HeapAlloc)
}

// answering is a transport that answers with what r holds.
func answering(status int, r io.Reader) transport {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(r)}, nil
	}
}

const giga = 1 << 30

// maxAlive is how much of the heap one answer may hold: the message of 8 MiB, its
// parts while they are put together, and a line of 1 MiB with what is read of it.
const maxAlive = 96 << 20

func TestFloodsEndInWordsAndNotInMemory(t *testing.T) {
	frame := func(delta string) string { return `data: {"choices":[{"index":0,"delta":` + delta + `}]}` + "\n\n" }
	call := func(rest string) string { return frame(`{"tool_calls":[` + rest + `]}`) }
	args := call(`{"index":0,"id":"c","function":{"name":"f","arguments":"` + strings.Repeat("x", 32<<10) + `"}}`)
	manyNames := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	hermes := Profile{TextCalls: Hermes, AnyTool: true}
	const line, calls = "a line of the stream is over the size limit", "more than 128 tool calls"
	limit := sampletest.Count(1<<19, DefaultMaxMessage)
	message := fmt.Sprintf("the answer is longer than %d bytes", limit)
	tests := []struct {
		name    string
		profile Profile
		status  int
		body    io.Reader
		kind    Kind
		says    string
	}{
		{name: "a line of 1 GB", body: io.MultiReader(strings.NewReader("data: "), &endless{unit: strings.Repeat("x", 4096), total: giga}), says: line},
		{name: "a comment of 1 GB", body: io.MultiReader(strings.NewReader(":"), &endless{unit: strings.Repeat("x", 4096), total: giga}), says: line},
		{name: "an event of 1 GB", body: io.MultiReader(strings.NewReader("data: x"), &endless{unit: "\ndata: " + strings.Repeat("x", 40), total: giga}), says: "an event of the stream is over the size limit"},
		{name: "JSON of 1 GB", body: io.MultiReader(strings.NewReader(`{"choices":[`), &endless{unit: strings.Repeat("[", 4096), total: giga}), says: "the answer is over the size limit"},
		{name: "a page of 1 GB", body: io.MultiReader(strings.NewReader("<"), &endless{unit: strings.Repeat("x", 4096), total: giga}), says: "the answer is over the size limit"},

		{name: "a text of 1 GB", body: &endless{unit: frame(`{"content":"` + strings.Repeat("x", 32<<10) + `"}`), total: giga}, says: message},
		{name: "a text one character too long", body: io.MultiReader(times(limit>>15, frame(`{"content":"`+strings.Repeat("x", 32<<10)+`"}`)), strings.NewReader(frame(`{"content":"x"}`))), says: message},
		{name: "reasoning of 1 GB", body: &endless{unit: frame(`{"reasoning":"` + strings.Repeat("x", 32<<10) + `"}`), total: giga}, says: message},
		{name: "reasoning and text of 1 GB", body: &endless{unit: frame(`{"reasoning":"` + strings.Repeat("x", 99) + `","content":"` + strings.Repeat("x", 9999) + `"}`), total: giga}, says: message},
		{name: "arguments of 1 GB", body: &endless{unit: args, total: giga}, says: message},
		{name: "reasoning details of 1 GB", body: &endless{unit: frame(`{"reasoning_details":[{"text":"` + strings.Repeat("x", 9999) + `"}]}`), total: giga}, says: message},
		{name: "reasoning details of one byte each", body: &endless{unit: frame(`{"reasoning_details":[1` + strings.Repeat(",1", 99_999) + `]}`), total: giga}, says: message},
		{name: "unknown members of 1 GB", body: &endless{unit: call(`{"index":0,"id":"c","function":{"name":"f"},"x":"` + strings.Repeat("x", 9999) + `"}`), total: giga}, says: message},
		{name: "unknown members of a byte each", body: &endless{unit: call(`{"index":0,"id":"c","function":{"name":"f"` + manyNames(20_000, `,"%x":0`) + `}` + manyNames(20_000, `,"%x":0`) + `}`), total: giga}, says: message},
		{name: "a text that looks like a call, of 1 GB", profile: hermes, body: io.MultiReader(strings.NewReader(frame(`{"content":"<tool_call>{"}`)), &endless{unit: frame(`{"content":"` + strings.Repeat("x", 32<<10) + `"}`), total: giga}), says: message},
		{name: "white space of 1 GB", profile: hermes, body: &endless{unit: frame(`{"content":"` + strings.Repeat(" ", 32<<10) + `"}`), total: giga}, says: message},

		{name: "100,000 calls", body: times(100_000, call(`{"id":"","function":{"name":"f","arguments":"{}"}}`)), says: calls},
		{name: "100,000 calls in lines of thousands", body: times(100, call(strings.TrimSuffix(strings.Repeat(`{"id":"","function":{"name":"f","arguments":"{}"}},`, 1000), ","))), says: calls},
		{name: "100,000 calls, each of an index", body: strings.NewReader(manyNames(100_000, `data: {"choices":[{"delta":{"tool_calls":[{"index":%d,"id":"c","function":{"name":"f"}}]}}]}`+"\n\n")), says: calls},
		{name: "100,000 calls in the text", profile: hermes, body: times(100_000, frame(`{"content":"<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>"}`)), says: calls},
		{name: "100,000 lines that are not JSON", body: times(100_000, "data: {\n\n"), says: "not made of JSON objects"},

		{name: "a refusal of 1 GB", status: 500, body: &endless{unit: "boom ", total: giga}, kind: KindServer, says: "HTTP 500"},
		{name: "a redirect of 1 GB", status: 302, body: &endless{unit: "boom ", total: giga}, kind: KindNotFound, says: "HTTP 302"},
		{name: "an error of 1 GB in a stream", body: &endless{unit: `data: {"error":{"message":"` + strings.Repeat("boom ", 50_000) + `"}}` + "\n\n", total: giga}, kind: KindServer, says: "boom"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := &scale{Reader: tt.body, left: between}
			body.weigh()
			before := body.most
			if tt.kind == "" {
				tt.kind = KindMalformed
			}
			if tt.status == 0 {
				tt.status = 200
			}
			c := newTestClient(t, Config{HTTPTransport: answering(tt.status, body), Profile: tt.profile, MaxMessage: limit})
			allocated, began := allocatedBytes(), time.Now()
			resp, err := c.Stream(t.Context(), hello, func(Delta) error { return nil })
			took, allocated := time.Since(began), allocatedBytes()-allocated
			body.weigh()
			e := asError(t, err)
			if e.Kind != tt.kind || e.Retryable() != (tt.kind == KindServer) || !strings.Contains(e.Message, tt.says) || len(e.Message) > 2000 || len([]rune(e.Detail)) > maxDetail {
				t.Errorf("kind %s, retryable %v, detail of %d bytes: %.500s", e.Kind, e.Retryable(), len(e.Detail), e.Message)
			}
			if n := len(resp.Text) + len(resp.Reasoning); n > limit || len(resp.Calls) > DefaultMaxCalls {
				t.Errorf("%d bytes and %d calls were kept", n, len(resp.Calls))
			}
			t.Logf("%d MiB were alive at most, %d MiB were allocated, %s", int64(body.most-before)>>20, allocated>>20, took.Round(time.Millisecond))
			if alive := int64(body.most) - int64(before); alive > maxAlive || allocated > 512<<20 && !raced() {
				t.Errorf("%d MiB were alive, %d MiB were allocated", alive>>20, allocated>>20)
			}
		})
	}
}

func allocatedBytes() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.TotalAlloc)
}

func TestAMillionSmallPiecesCostLittleEach(t *testing.T) {
	n := sampletest.Count(5_000, 1_000_000)
	if raced() { // each takes 100 times as long then
		n = min(n, 50_000)
	}
	frame := func(delta string) string {
		return `data: {"id":"r","choices":[{"index":0,"delta":` + delta + `}]}` + "\n\n"
	}
	x := frame(`{"content":"x"}`)
	open := func(s string) string { return frame(`{"content":"` + s + `"}`) }
	began := frame(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"\""}}]}`)
	piece := frame(`{"tool_calls":[{"index":0,"function":{"arguments":"x"}}]}`)
	closed := frame(`{"tool_calls":[{"index":0,"function":{"arguments":"\""}}]}`)
	all := strings.Repeat("x", n)
	hermes := Profile{TextCalls: Hermes, AnyTool: true}
	tests := []struct {
		name    string
		profile Profile
		before  string
		unit    string
		after   string
		want    outcome
		// each is the bytes that a piece may allocate.
		each int64
		most int // pieces; 0: any number
	}{
		{name: "pings", unit: "event: ping\ndata: {}\n\n", after: okStream, want: outcome{finish: FinishStop, text: "hi"}, each: 2048},
		{name: "empty deltas", unit: frame(`{}`), after: okStream, want: outcome{finish: FinishStop, text: "hi"}, each: 3072},
		{name: "usage in each frame", unit: `data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}` + "\n\n", after: okStream, want: outcome{finish: FinishStop, text: "hi"}, each: 3072},
		{name: "fragments of text", unit: x, after: endedBy("stop") + doneFrame, want: outcome{finish: FinishStop, text: all}, each: 512},
		{name: "fragments of reasoning", unit: frame(`{"reasoning":"x"}`), after: endedBy("stop") + doneFrame, want: outcome{finish: FinishStop, reasoning: all}, each: 512},
		{name: "fragments of arguments", before: began, unit: piece, after: closed + endedBy("tool_calls") + doneFrame,
			want: outcome{finish: FinishToolCalls, calls: []Call{{ID: "c1", Name: "f", Arguments: `"` + all + `"`}}}, each: 4096},
		{name: "fragments of text where calls may be", profile: hermes, unit: x, after: endedBy("stop") + doneFrame, want: outcome{finish: FinishStop, text: all}, each: 768},
		{name: "fragments of a call in the text", profile: hermes, before: open(`<tool_call>{\"name\":\"f\",\"arguments\":{\"q\":\"`), unit: x, after: open(`\"}}</tool_call>`) + endedBy("stop") + doneFrame,
			want: outcome{finish: FinishToolCalls, calls: []Call{{ID: "*", Name: "f", Arguments: `{"q":"` + all + `"}`}}}, each: 768},
		{name: "fragments of a mark that never comes", profile: hermes, before: open("x"), unit: open("<tool_call"), after: endedBy("stop") + doneFrame, want: outcome{finish: FinishStop, text: "x" + strings.Repeat("<tool_call", min(n, 800_000))}, each: 768, most: 800_000},
		{name: "fragments of thoughts", profile: Profile{ThinkTags: true}, before: open("<think>"), unit: x, after: open("</think>hi") + endedBy("stop") + doneFrame, want: outcome{finish: FinishStop, text: "hi", reasoning: all}, each: 768},
		{name: "white space in thoughts", profile: Profile{ThinkTags: true}, before: open("<think>x"), unit: open(" "), after: open("y</think>hi") + endedBy("stop") + doneFrame,
			want: outcome{finish: FinishStop, text: "hi", reasoning: "x" + strings.Repeat(" ", n) + "y"}, each: 768},
		{name: "white space before thoughts", profile: Profile{ThinkTags: true}, unit: open(" "), after: open("hi") + endedBy("stop") + doneFrame,
			want: outcome{finish: FinishStop, text: strings.Repeat(" ", n) + "hi"}, each: 768},
		{name: "white space in a block", profile: hermes, before: open("<tool_call>"), unit: open(" "), after: open("hi") + endedBy("stop") + doneFrame,
			want: outcome{finish: FinishStop, text: "<tool_call>" + strings.Repeat(" ", n) + "hi"}, each: 768},
		{name: "white space in a block of no certain beginning", profile: Profile{TextCalls: GLM, AnyTool: true}, before: open("<tool_call>"), unit: open(" "), after: open("hi") + endedBy("stop") + doneFrame,
			want: outcome{finish: FinishStop, text: "<tool_call>" + strings.Repeat(" ", n) + "hi"}, each: 768},
		{name: "white space where calls may be", profile: hermes, unit: open(" "), after: open("hi") + endedBy("stop") + doneFrame,
			want: outcome{finish: FinishStop, text: strings.Repeat(" ", n) + "hi"}, each: 768},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pieces := n
			if tt.most > 0 {
				pieces = min(n, tt.most)
			}
			body := &scale{Reader: io.MultiReader(strings.NewReader(tt.before), times(pieces, tt.unit), strings.NewReader(tt.after)), left: between}
			body.weigh()
			before := body.most
			c := newTestClient(t, Config{HTTPTransport: answering(200, body), Profile: tt.profile})
			allocated, began := allocatedBytes(), time.Now()
			resp, err := c.Stream(t.Context(), hello, func(Delta) error { return nil })
			took, each := time.Since(began), (allocatedBytes()-allocated)/int64(pieces)
			for i := range tt.want.calls {
				if len(resp.Calls) > i && tt.want.calls[i].ID == "*" {
					resp.Calls[i].ID = "*"
				}
			}
			resp.Warnings = nil
			for _, bad := range tt.want.differs(resp, err, 0) {
				t.Errorf("%.300s", bad)
			}
			t.Logf("%d pieces: %d MiB were alive at most, %d bytes were allocated and %d ns spent on each", pieces, int64(body.most-before)>>20, each, took.Nanoseconds()/int64(pieces))
			if alive := int64(body.most) - int64(before); alive > maxAlive || each > tt.each && !raced() {
				t.Errorf("%d MiB were alive, %d bytes were allocated for each", alive>>20, each)
			}
		})
	}
}

func TestAMillionEventsOfNothingCostNothing(t *testing.T) {
	n := sampletest.Count(100_000, 1_000_000)
	for _, tt := range []struct{ name, unit string }{
		{"empty events", "data:\n\n"},
		{"comments", ": keep-alive\n\n"},
		{"comments sent as data", "data: : keep-alive\n\n"},
		{"blank lines", "\n"},
		{"carriage returns", "\r"},
		{"names without data", "event: ping\n\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newTestClient(t, Config{HTTPTransport: answering(200, io.MultiReader(times(n, tt.unit), strings.NewReader(okStream)))})
			before := allocatedBytes()
			resp, _, err := ask(c, hello)
			if bad := (outcome{finish: FinishStop, text: "hi"}).differs(resp, err, 0); len(bad) > 0 {
				t.Error(strings.Join(bad, "; "))
			}
			if each := (allocatedBytes() - before) / int64(n); each > 32 {
				t.Errorf("%d bytes were allocated for each", each)
			}
		})
	}
}

func TestHeadsWithoutAnEndAreNotRead(t *testing.T) {
	c, _ := onLoopback(t, Config{}, send("HTTP/1.1 200 OK\r\nX: "), pour(&endless{unit: strings.Repeat("x", 4096), total: giga}))
	before := allocatedBytes()
	resp, _, err := ask(c, hello)
	want := outcome{kind: KindTransport, retryable: true, says: "server response headers exceeded"}
	if bad := want.differs(resp, err, 0); len(bad) > 0 {
		t.Error(strings.Join(bad, "; "))
	}
	if grown := allocatedBytes() - before; grown > 128<<20 && !raced() {
		t.Errorf("%d MiB were allocated", grown>>20)
	}
}
