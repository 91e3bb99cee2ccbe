package jsonlines

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"
)

// shout answers {"id", "say"} and fails on demand.
func shout(line []byte) (any, error) {
	var in struct{ ID, Say string }
	if err := Decode(line, &in); err != nil {
		return nil, err
	}
	switch in.Say {
	case "panic":
		panic("too loud")
	case "nan":
		return math.NaN(), nil
	case "fail":
		return nil, errors.New("cannot say that")
	}
	return map[string]string{"id": in.ID, "said": strings.ToUpper(in.Say)}, nil
}

func TestHandle(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"nothing gives nothing", "", ""},
		{"answers keep their order", `{"id":"1","say":"a"}` + "\n" + `{"id":"2","say":"b"}` + "\n", `{"id":"1","said":"A"}` + "\n" + `{"id":"2","said":"B"}` + "\n"},
		{"the last line needs no end", `{"id":"1","say":"a"}`, `{"id":"1","said":"A"}` + "\n"},
		{"blank lines and carriage returns are passed over", "\n \r\n" + `{"id":"1","say":"<a>"}` + "\r\n\n", `{"id":"1","said":"<A>"}` + "\n"},
		{"a failure keeps the id as it was", `{"id":7,"say":"a"}` + "\n" + `{"id":"2","say":"b"}`, `{"error":"ID: want string, got number","id":7}` + "\n" + `{"id":"2","said":"B"}` + "\n"},
		{"bad JSON has no id", `{"id":"1"`, `{"error":"line: not valid JSON: unexpected end of JSON input at byte 9"}` + "\n"},
		{"no object", `"text"` + "\nnull\n", `{"error":"line: want a JSON object, got string"}` + "\n" + `{"error":"line: want a JSON object"}` + "\n"},
		{"an error of the answer", `{"id":"1","say":"fail"}`, `{"error":"cannot say that","id":"1"}` + "\n"},
		{"a panic over one line spares the others", `{"id":"1","say":"panic"}` + "\n" + `{"id":"2","say":"b"}`, `{"error":"cannot be handled: too loud","id":"1"}` + "\n" + `{"id":"2","said":"B"}` + "\n"},
		{"an answer that is no JSON", `{"id":"1","say":"nan"}`, `{"error":"answer: json: unsupported value: NaN","id":"1"}` + "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Handle(strings.NewReader(tt.in), &out, []string{"id"}, shout); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestALineOverTheLimitIsAnsweredAndTheRestGoesOn(t *testing.T) {
	const limit = 100_000 // over the buffer of the reader
	exact := `{"id":"1","say":"` + strings.Repeat("a", limit-len(`{"id":"1","say":""}`)) + `"}`
	for _, tt := range []struct{ name, in, want string }{
		{"at the limit", exact + "\n", `{"id":"1",`},
		{"one byte over", exact + " \n" + `{"id":"2","say":"b"}`, `{"error":"line: longer than 64 MiB"}` + "\n" + `{"id":"2","said":"B"}`},
		{"over, without an end", exact + " x", `{"error":"line: longer than 64 MiB"}` + "\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := handle(strings.NewReader(tt.in), &out, []string{"id"}, shout, limit); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(out.String(), tt.want) {
				t.Errorf("got %.200s\nwant %.200s", out.String(), tt.want)
			}
		})
	}
}

func TestEveryAnswerIsWrittenBeforeTheNextLineIsRead(t *testing.T) {
	in, feed := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Handle(in, out, nil, shout) }()
	decoder := json.NewDecoder(answers)
	for _, say := range []string{"a", "b"} {
		if _, err := io.WriteString(feed, `{"say":"`+say+`"}`+"\n"); err != nil {
			t.Fatal(err)
		}
		var got struct{ Said string }
		if err := decoder.Decode(&got); err != nil || got.Said != strings.ToUpper(say) {
			t.Fatalf("%v, %v", got, err)
		}
	}
	_ = feed.Close()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

func TestReadAndWriteErrorsEnd(t *testing.T) {
	if err := Handle(iotest.ErrReader(errors.New("gone")), io.Discard, nil, shout); err == nil || err.Error() != "read the input: gone" {
		t.Errorf("got %v", err)
	}
	closed, w := io.Pipe()
	_ = closed.Close()
	if err := Handle(strings.NewReader("{}\n"), w, nil, shout); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}

func FuzzHandle(f *testing.F) {
	f.Add("{\"id\":\"1\",\"say\":\"a\"}\n\n[]\nx", 10)
	f.Fuzz(func(t *testing.T, in string, limit int) {
		limit = 1 + max(limit, 0)%1000
		want := 0
		for line := range strings.SplitSeq(in, "\n") {
			if len(line) > limit || len(bytes.TrimSpace([]byte(line))) > 0 {
				want++
			}
		}
		var out bytes.Buffer
		if err := handle(strings.NewReader(in), &out, []string{"id"}, shout, limit); err != nil {
			t.Fatal(err)
		}
		if got := bytes.Count(out.Bytes(), []byte("\n")); got != want {
			t.Fatalf("%d answers to %d lines:\n%s", got, want, out.Bytes())
		}
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) {
				t.Fatalf("not JSON: %s", line)
			}
		}
	})
}
