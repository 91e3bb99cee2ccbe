package provider

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// agree reads a frame by both readers and reports whether the scan took it.
func agree(t *testing.T, r *chunkReader, frame []byte) bool {
	t.Helper()
	if !r.scan(frame) {
		return false
	}
	want, err := parseChunk(frame)
	if err != nil {
		t.Fatalf("the scan reads %q, which is refused: %v", frame, err)
	}
	if !reflect.DeepEqual(&r.chunk, want) {
		t.Fatalf("%q is scanned as\n%+v, and read as\n%+v", frame, r.chunk, *want)
	}
	return true
}

// common are frames as they come by the thousand, of several providers.
var common = []string{
	textFrame,
	`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","service_tier":"default","system_fingerprint":"fp","choices":[{"index":0,"delta":{"content":" a"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"x1"}`,
	`{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning_content":"hm"},"finish_reason":null}]}`,
	`{"choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null,"tool_calls":null}}]}`,
	`{"id":"c","model":"m","choices":[{"delta":{"content":"","reasoning":"hm"},"index":0}]}`,
	`{"choices":[{"index":0,"delta":{"content":"a\n\"b\"\\ \u4f60\u00e9 é 龙虾"},"finish_reason":null}]}`,
	` { "id" : "c" , "choices" : [ { "index" : 0 , "delta" : { "content" : "a" } } ] } `,
	`{"id":null,"model":null,"choices":[{"index":0,"delta":{"content":"a"}}]}`,
}

// unusual are frames that only the whole reader may read.
var unusual = []string{
	``, `{}`, `null`, `[]`, `{"choices":[]}`, `{"choices":null}`, `{"choices":[{}]}`,
	`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`,
	`{"choices":[{"index":1,"delta":{"content":"a"}}]}`, `{"choices":[{"index":00,"delta":{"content":"a"}}]}`,
	`{"choices":[{"index":0.0,"delta":{"content":"a"}}]}`, `{"choices":[{"index":"0","delta":{"content":"a"}}]}`,
	`{"choices":[{"index":0,"delta":{"content":"a"}},{"index":1,"delta":{"content":"b"}}]}`,
	`{"choices":[{"index":0,"delta":{"content":"a","content":"b"}}]}`, `{"choices":[{"index":0,"delta":{"Content":"a"}}]}`,
	`{"choices":[{"index":0,"delta":{"content":[{"type":"text","text":"a"}]}}]}`, `{"choices":[{"index":0,"delta":{"content":5}}]}`,
	`{"choices":[{"index":0,"delta":{"content":"a\u0000"}}]}`, `{"choices":[{"index":0,"delta":{"content":"\ud83d\ude00"}}]}`,
	`{"choices":[{"index":0,"delta":{"content":"\ud83d"}}]}`, `{"choices":[{"index":0,"delta":{"content":"a\x"}}]}`,
	"{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\xff\"}}]}", "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\tb\"}}]}",
	`{"choices":[{"index":0,"delta":{"content":"a"}}]}{}`, `{"choices":[{"index":0,"delta":{"content":"a"}}]`, `{"choices":[{"index":0,"delta":{"content":"a"},}]}`,
	`{"object":"error","message":"boom","choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"error":{},"choices":[{"index":0,"delta":{"content":"a"}}]}`,
	`{"created":01,"choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"created":1.5,"choices":[{"index":0,"delta":{"content":"a"}}]}`,
	`{"usage":{"prompt_tokens":1},"choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0}]}}]}`,
	`{"id":"é","choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"id":5,"choices":[{"index":0,"delta":{"content":"a"}}]}`,
}

func TestTheScanReadsWhatTheWholeReaderReads(t *testing.T) {
	var r chunkReader
	for range 2 { // the reader keeps nothing of the frame before
		for _, frame := range common {
			if !agree(t, &r, []byte(frame)) {
				t.Errorf("%s is not scanned", frame)
			}
		}
		for _, frame := range unusual {
			if agree(t, &r, []byte(frame)) {
				t.Errorf("%s is scanned", frame)
			}
		}
	}
}

func TestEveryFrameOfTheCorpusIsReadTheSameByBoth(t *testing.T) {
	var r chunkReader
	frames, scanned := 0, 0
	for _, q := range corpus(t) {
		for line := range strings.Lines(q.Wire) {
			frame := strings.TrimSpace(strings.TrimPrefix(line, "data:"))
			if json.Valid([]byte(frame)) {
				frames++
				scanned += count(agree(t, &r, []byte(frame)))
			}
		}
	}
	t.Logf("%d of %d frames are scanned", scanned, frames)
}

func TestAPieceOfTextIsOneAllocation(t *testing.T) {
	a := newAssembler(Config{MaxMessage: 1 << 40}.withDefaults(), nil)
	a.text.Grow(1 << 20)
	yield := func(Delta) error { return nil }
	var r chunkReader
	for _, frame := range common[:3] {
		in := []byte(frame)
		per := testing.AllocsPerRun(1000, func() {
			c, err := r.read(in)
			if err == nil {
				err = a.add(c, yield)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
		if per > 1 { // growth of the collected text is below one in a thousand
			t.Errorf("%v allocations for %s", per, frame)
		}
	}
}

func FuzzTextChunk(f *testing.F) {
	for _, frame := range append(common, unusual...) {
		f.Add([]byte(frame), []byte(textFrame))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var r chunkReader
		agree(t, &r, first)
		agree(t, &r, second)
		agree(t, &r, first)
	})
}
