package provider

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

// piece is a frame of an answer, with what it adds to it.
type piece struct {
	frame           string // without its line ends
	text, reasoning string
	call            bool // the answer's calls are whole with it
	finish          bool // it says that the answer is whole
}

func framed(delta string) string {
	return `data: {"id":"r","choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]}`
}

func finished(reason string) piece {
	return piece{frame: `data: {"id":"r","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`, finish: true}
}

// shapes are answers to be cut.
var shapes = []struct {
	name   string
	pieces []piece
	finish Finish
	calls  []Call
}{
	{name: "text", finish: FinishStop, pieces: []piece{
		{frame: framed(`{"role":"assistant","content":""}`)},
		{frame: framed(`{"content":"A lobster "}`), text: "A lobster "}, {frame: framed(`{"content":"is 龙虾"}`), text: "is 龙虾"},
		{frame: framed(`{"content":" in\nChinese."}`), text: " in\nChinese."}, finished("stop"), {frame: "data: [DONE]"},
	}},
	{name: "reasoning", finish: FinishStop, pieces: []piece{
		{frame: framed(`{"reasoning_content":"let me "}`), reasoning: "let me "}, {frame: framed(`{"reasoning_content":"think"}`), reasoning: "think"},
		{frame: framed(`{"content":"Yes."}`), text: "Yes."}, finished("stop"), {frame: "data: [DONE]"},
	}},
	{name: "calls", finish: FinishToolCalls, calls: []Call{{ID: "c1", Name: "f", Arguments: `{"q":"x"}`}, {ID: "c2", Name: "g", Arguments: `{"n":[1,2]}`}}, pieces: []piece{
		{frame: framed(`{"content":"I look."}`), text: "I look."},
		{frame: framed(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":"{\"q\":"}}]}`)},
		{frame: framed(`{"tool_calls":[{"index":0,"function":{"arguments":"\"x\"}"}}]}`)},
		{frame: framed(`{"tool_calls":[{"index":1,"id":"c2","type":"function","function":{"name":"g","arguments":""}}]}`)},
		{frame: framed(`{"tool_calls":[{"index":1,"function":{"arguments":"{\"n\":[1,2]}"}}]}`), call: true},
		finished("tool_calls"), {frame: "data: [DONE]"},
	}},
	{name: "usage", finish: FinishLength, pieces: []piece{
		{frame: framed(`{"content":"half an "}`), text: "half an "}, finished("length"),
		{frame: `data: {"id":"r","choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7}}`}, {frame: "data: [DONE]"},
	}},
}

// cutPoints are how many places an answer is cut at.
const cutPoints = 20

// cuts are the ways in which a connection ends too early, around what was sent of
// the body.
var cuts = []struct {
	name   string
	script func(part string) []act
}{
	{"closed", func(part string) []act { return []act{send(streamHead(), part)} }},
	{"closed, of a length", func(part string) []act {
		return []act{send(head(200, "Content-Type: text/event-stream", "Content-Length: 100000"), part)}
	}},
	{"chunks without an end", func(part string) []act {
		return []act{send(chunkedHead(), strings.TrimSuffix(chunked(part+"\n"), "\r\n"))}
	}},
	{"reset", func(part string) []act { return []act{send(streamHead(), part), reset} }},
	{"reset, in chunks", func(part string) []act { return []act{send(chunkedHead(), chunked(part+"\n")), reset} }},
}

func TestAnAnswerThatIsCutIsToldFromAWholeOneWhateverIsCutAndHow(t *testing.T) {
	for _, shape := range shapes {
		var wire strings.Builder
		var ends []int
		for _, p := range shape.pieces {
			wire.WriteString(p.frame)
			ends = append(ends, wire.Len())
			wire.WriteString("\n\n")
		}
		for i := range cutPoints {
			at := wire.Len() * i / (cutPoints - 1)
			want := outcome{kind: KindTruncated, retryable: true, says: "ended in the middle of the answer"}
			usage := Usage{}
			for j, p := range shape.pieces {
				if at < ends[j] {
					break
				}
				want.text, want.reasoning = want.text+p.text, want.reasoning+p.reasoning
				if p.finish {
					want = outcome{finish: shape.finish, text: want.text, reasoning: want.reasoning, calls: shape.calls}
				}
				if strings.Contains(p.frame, "usage") {
					usage = Usage{InputTokens: 11, OutputTokens: 7}
				}
			}
			done := at >= ends[len(ends)-1]
			if want.kind == "" && !done {
				want.warns = "the stream ended without [DONE]"
			}
			for _, cut := range cuts {
				inBubble(t, fmt.Sprintf("%s cut at %d of %d, %s", shape.name, at, wire.Len(), cut.name), func(t *testing.T) []string {
					c, _ := inMemory(t, Config{}, cut.script(wire.String()[:at])...)
					resp, _, err := ask(c, hello)
					bad := want.differs(resp, err, 0)
					if err == nil && usage != (Usage{}) && resp.Usage != usage || err == nil && usage == (Usage{}) && !resp.Usage.Estimated {
						bad = append(bad, fmt.Sprintf("usage %+v", resp.Usage))
					}
					if err != nil && len(resp.Calls) > 0 && shape.calls == nil {
						bad = append(bad, "calls out of nothing")
					}
					return bad
				})
			}
		}
	}
}

func TestAConnectionThatIsResetOnARealNetworkIsACutAnswer(t *testing.T) {
	for _, tt := range []struct {
		name   string
		script []act
		want   outcome
	}{
		{"before the answer", []act{reset}, outcome{kind: KindTransport, retryable: true, says: "the connection failed"}},
		{"in the head", []act{send("HTTP/1.1 200 OK\r\nContent-"), reset}, outcome{kind: KindTransport, retryable: true, says: "the connection failed"}},
		{"in the body", []act{send(streamHead(), "data: {\"choi"), reset}, outcome{kind: KindTruncated, retryable: true, says: "ended in the middle"}},
		{"closed before the answer", nil, outcome{kind: KindTransport, retryable: true, says: "the connection failed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := onLoopback(t, Config{}, tt.script...)
			resp, _, err := ask(c, hello)
			if bad := tt.want.differs(resp, err, 0); len(bad) > 0 {
				t.Error(strings.Join(bad, "; "))
			}
		})
	}
}

// compressed is s as gzip.
func compressed(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return b.String()
}

// noise is what no protocol says.
func noise(n int) string {
	rnd := rand.New(rand.NewPCG(6, 6))
	b := make([]byte, n)
	for i := range b {
		b[i] = 0x80 | byte(rnd.Uint32())
	}
	return string(b)
}

// wide is s in UTF-16.
func wide(s string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune("\uFEFF" + s)) {
		b.WriteByte(byte(u))
		b.WriteByte(byte(u >> 8))
	}
	return b.String()
}

func TestWhateverAnEndpointSendsHasARightOutcome(t *testing.T) {
	hi := outcome{finish: FinishStop, text: "hi"}
	garbage := outcome{kind: KindMalformed, says: "neither an event stream nor JSON"}
	page := outcome{kind: KindMalformed, says: "a web page came in place of an answer (Sign in)"}
	login := "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>" + strings.Repeat("<form>x</form>", 500) + "</body></html>"
	whole := `{"id":"r","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`
	answerOf := func(id, text string) string {
		return `data: {"id":"` + id + `","choices":[{"index":0,"delta":{"role":"assistant","content":"` + text + `"},"finish_reason":null}]}` + "\n\n" +
			`data: {"id":"` + id + `","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	}
	call := `data: {"id":"%s","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"%s","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}` + "\n\n"
	second := "a second answer in the stream was not read"
	tests := []struct {
		name   string
		script []act
		want   outcome
	}{
		// Garbage.
		{"random bytes", []act{send(streamHead(), noise(5000))}, garbage},
		{"random bytes without an end", []act{send(streamHead()), pour(&endless{unit: noise(4096), total: 1 << 30})}, outcome{kind: KindMalformed, says: "a line of the stream is over the size limit"}},
		{"prose", []act{send(head(200, "Content-Type: text/plain", "Connection: close"), "OK\n\nAll systems are up.\n")}, garbage},
		{"an answer in UTF-16", []act{send(streamHead(), wide(okStream))}, garbage},
		{"events that are not JSON", []act{send(streamHead(), strings.Repeat("data: hello, world\n\n", 20))}, outcome{kind: KindMalformed, says: "not made of JSON objects"}},
		{"events of other JSON", []act{send(streamHead(), strings.Repeat("data: [1,2]\n\n", 20))}, outcome{kind: KindMalformed, says: "not made of JSON objects"}},
		{"JSON that is no answer", []act{send(head(200, "Connection: close"), `[1,2,3]`)}, outcome{kind: KindServer, retryable: true, says: "an error in the answer"}},
		{"JSON twice", []act{send(head(200, "Connection: close"), whole, whole)}, garbage},
		{"a page to sign in at", []act{send(head(200, "Content-Type: text/html", "Connection: close"), login)}, page},
		{"a page that calls itself a stream", []act{send(streamHead(), login)}, page},
		{"no HTTP at all", []act{send("SSH-2.0-OpenSSH_9.6\r\n")}, outcome{kind: KindTransport, retryable: true, says: "the connection failed"}},

		// Errors under 200.
		{"a JSON error under 200", []act{send(head(200, "Content-Type: application/json", "Connection: close"), `{"error":{"message":"boom","code":"server_error"}}`)},
			outcome{kind: KindServer, retryable: true, detail: "boom", says: "an error in the answer"}},
		{"a JSON error with a status under 200", []act{send(head(200, "Connection: close"), `{"error":{"message":"slow down","code":429}}`)},
			outcome{kind: KindRateLimited, retryable: true, detail: "slow down", says: "Too many requests"}},
		{"an error in the middle", []act{send(streamHead(), textOf("Well, "), `data: {"error":{"message":"boom"}}`+"\n\n")},
			outcome{kind: KindServer, retryable: true, text: "Well, ", detail: "boom", says: "an error in the answer"}},
		{"an error with the last text", []act{send(streamHead(), `data: {"choices":[{"delta":{"content":"Well"}}],"error":"boom"}`+"\n\n")},
			outcome{kind: KindServer, retryable: true, text: "Well", detail: "boom", says: "an error in the answer"}},

		// Types and codings.
		{"a stream of no type", []act{send(head(200, "Connection: close"), okStream)}, hi},
		{"a stream that calls itself a page", []act{send(head(200, "Content-Type: text/html", "Connection: close"), okStream)}, hi},
		{"a stream that calls itself JSON", []act{send(head(200, "Content-Type: application/json", "Connection: close"), okStream)}, hi},
		{"JSON that calls itself a stream", []act{send(streamHead(), whole)}, hi},
		{"JSON of a wrong type", []act{send(head(200, "Content-Type: application/octet-stream", "Connection: close"), whole)}, hi},
		{"gzip although not asked for", []act{send(head(200, "Content-Type: text/event-stream", "Content-Encoding: gzip", "Connection: close"), compressed(okStream))}, hi},
		{"gzip byte by byte", []act{send(head(200, "Content-Encoding: x-gzip", "Connection: close")), drip(0, strings.Split(compressed(okStream), "")...)}, hi},
		{"an error in gzip", []act{send(head(429, "Content-Encoding: GZIP", "Connection: close"), compressed(`{"error":{"message":"slow down"}}`))},
			outcome{kind: KindRateLimited, retryable: true, detail: "slow down", says: "Too many requests"}},
		{"gzip that is cut", []act{send(head(200, "Content-Encoding: gzip", "Connection: close"), compressed(okStream)[:40])},
			outcome{kind: KindTruncated, retryable: true, says: "ended in the middle"}},
		{"gzip that is none", []act{send(head(200, "Content-Encoding: gzip", "Connection: close"), okStream)},
			outcome{kind: KindMalformed, says: "calls itself gzip, which it is not"}},
		{"gzip that is broken", []act{send(head(200, "Content-Encoding: gzip", "Connection: close"), compressed(okStream)[:10], noise(200))},
			outcome{kind: KindMalformed, says: "the answer is broken gzip"}},
		{"a gzip bomb", []act{send(head(200, "Content-Encoding: gzip", "Connection: close"), compressed("data: "+strings.Repeat("x", 8<<20)))},
			outcome{kind: KindMalformed, says: "a line of the stream is over the size limit"}},
		{"another coding", []act{send(head(200, "Content-Encoding: br", "Connection: close"), noise(300))},
			outcome{kind: KindMalformed, says: `the answer is compressed ("br"), which was not asked for`}},
		{"no coding, by name", []act{send(head(200, "Content-Encoding: identity", "Connection: close"), okStream)}, hi},

		// Framing.
		{"chunks of one byte", []act{send(chunkedHead(), strings.Join(each(okStream, chunked), ""), lastChunk)}, hi},
		{"chunks without an end, after [DONE]", []act{send(chunkedHead(), chunked(okStream)), hang}, hi},
		{"chunks of a length that is none", []act{send(chunkedHead(), "zz\r\n", okStream)}, outcome{kind: KindTruncated, retryable: true, says: "ended in the middle"}},
		{"a body longer than its length", []act{send(head(200, "Connection: close", fmt.Sprintf("Content-Length: %d", len(okStream))), okStream, "data: more\n\n")}, hi},
		{"half of a JSON answer", []act{send(head(200, "Connection: close"), whole[:60])}, outcome{kind: KindTruncated, retryable: true, says: "ended in the middle"}},
		{"an empty body", []act{send(head(200, "Content-Length: 0"))}, outcome{kind: KindTruncated, retryable: true, says: "ended in the middle"}},
		{"comments alone", []act{send(streamHead(), strings.Repeat(": ping\n\n", 9))}, outcome{kind: KindTruncated, retryable: true, says: "ended in the middle"}},
		{"an answer of nothing", []act{send(streamHead(), endedBy("stop"), doneFrame)}, outcome{finish: FinishStop}},

		// Two answers.
		{"another answer after [DONE]", []act{send(streamHead(), answerOf("a", "hi"), doneFrame, answerOf("b", "ho"), doneFrame)}, hi},
		{"another answer after the end of the first", []act{send(streamHead(), answerOf("a", "hi"), answerOf("b", "ho"), doneFrame)},
			outcome{finish: FinishStop, text: "hi", warns: second}},
		{"the same call twice, as two answers", []act{send(streamHead(), fmt.Sprintf(call, "a", "c1"), fmt.Sprintf(call, "b", "c2"), doneFrame)},
			outcome{finish: FinishToolCalls, calls: []Call{{ID: "c1", Name: "f", Arguments: "{}"}}, warns: second}},
		{"an answer whose every frame has an id of its own", []act{send(streamHead(),
			`data: {"id":"1","choices":[{"delta":{"content":"h"}}]}`+"\n\n"+`data: {"id":"2","choices":[{"delta":{"content":"i"}}]}`+"\n\n"+
				`data: {"id":"3","choices":[{"delta":{},"finish_reason":"stop"}]}`+"\n\n"+`data: {"id":"4","choices":[{"delta":{"content":"!"}}]}`+"\n\n", doneFrame)},
			outcome{finish: FinishStop, text: "hi!"}},
		{"an end that is told twice", []act{send(streamHead(), textOf("hi"), endedBy("stop"), endedBy("stop"), doneFrame)}, hi},
		{"text after the end, of the same answer", []act{send(streamHead(), textOf("h"), endedBy("stop"), textOf("i"), doneFrame)}, hi},
		{"usage under another id", []act{send(streamHead(), answerOf("a", "hi"), `data: {"id":"b","choices":[],"usage":{"prompt_tokens":3}}`+"\n\n", doneFrame)}, hi},
	}
	for _, tt := range tests {
		inBubble(t, tt.name, func(t *testing.T) []string {
			c, _ := inMemory(t, Config{APIKey: secretKey}, tt.script...)
			start := time.Now()
			resp, _, err := ask(c, hello)
			return tt.want.differs(resp, err, time.Since(start))
		})
	}
}

// each is f of every byte.
func each(s string, f func(string) string) []string {
	var out []string
	for i := range len(s) {
		out = append(out, f(s[i:i+1]))
	}
	return out
}
