package provider

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// events reads all events of r as "name|data".
func events(r io.Reader, maxLine, maxEvent int) ([]string, error) {
	e := newEventReader(r, maxLine, maxEvent)
	if _, err := e.sniff(); err != nil {
		return nil, err
	}
	var out []string
	for {
		ev, err := e.next()
		if err != nil {
			return out, err
		}
		out = append(out, ev.name+"|"+string(ev.data))
	}
}

func TestEventsAreReadByTheStandard(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
	}{
		{"LF", "data: a\n\ndata: b\n\n", []string{"|a", "|b"}},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"|a", "|b"}},
		{"CR", "data: a\r\rdata: b\r\r", []string{"|a", "|b"}},
		{"mixed ends", "data: a\r\n\ndata: b\n\rdata: c\r\n\r\n", []string{"|a", "|b", "|c"}},
		{"byte order mark", "\xEF\xBB\xBFdata: a\n\n", []string{"|a"}},
		{"no blank after the colon", "data:a\n\n", []string{"|a"}},
		{"one blank is taken, not two", "data:  a\n\n", []string{"| a"}},
		{"several data lines", "data: a\ndata\ndata: b\n\n", []string{"|a\n\nb"}},
		{"comments and blank lines", ": x\n\n\n: y\ndata: a\n\n", []string{"|a"}},
		{"a name belongs to its own event", "event: e\ndata: a\n\ndata: b\n\n", []string{"e|a", "|b"}},
		{"a name without data is dropped", "event: e\n\ndata: b\n\n", []string{"|b"}},
		{"empty data is an event", "data:\n\n", []string{"|"}},
		{"other fields are ignored", "id: 1\nretry: 2\nfoo: 3\ndata: a\n\n", []string{"|a"}},
		{"an event cut off by the end", "data: a\n\ndata: b", []string{"|a", "|b"}},
		{"JSON without a field name", "data: a\n\n{\"error\":1}\n\n", []string{"|a", `|{"error":1}`}},
		{"white space before the first event", " \n\n \ndata: a\n\n", []string{"|a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"whole": strings.NewReader(tt.in), "byte by byte": iotest.OneByteReader(strings.NewReader(tt.in)),
			} {
				got, err := events(r, 100, 100)
				if diff := cmp.Diff(tt.want, got); diff != "" || err != io.EOF {
					t.Errorf("%s: error %v (-want +got):\n%s", how, err, diff)
				}
			}
		})
	}
}

func TestAnEventIsDeliveredBeforeMoreBytesCome(t *testing.T) {
	for name, end := range map[string]string{"LF": "\n\n", "CR": "\r\r", "CRLF": "\r\n\r"} {
		t.Run(name, func(t *testing.T) {
			pr, pw := io.Pipe()
			go func() { _, _ = io.WriteString(pw, "data: a"+end) }() // and no more
			ev, err := newEventReader(pr, 100, 100).next()
			if err != nil || string(ev.data) != "a" {
				t.Errorf("%q, %v", ev.data, err)
			}
			pr.Close()
		})
	}
}

func TestLinesAndEventsAreBounded(t *testing.T) {
	tests := []struct {
		name, in string
		ok       bool
	}{
		{"a line at the limit", "data: " + strings.Repeat("x", 94) + "\n\n", true},
		{"a line over the limit", "data: " + strings.Repeat("x", 95) + "\n\n", false},
		{"a line without end", strings.Repeat("x", 5000), false},
		{"a comment over the limit", ":" + strings.Repeat("x", 100) + "\n\n", false},
		{"an event over the limit", strings.Repeat("data: 123456789\n", 21) + "\n", false},
		{"an event at the limit", strings.Repeat("data: 123456789\n", 20) + "\n", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := events(strings.NewReader(tt.in), 100, 200)
			if tt.ok != (err == io.EOF) || !tt.ok && !errors.Is(err, errTooLarge) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestAfterAFailureNothingMoreIsRead(t *testing.T) {
	in := "data: a\n" + strings.Repeat("x", 200) + "\n\ndata: b\n\n"
	for name, r := range map[string]io.Reader{"whole": strings.NewReader(in), "byte by byte": iotest.OneByteReader(strings.NewReader(in))} {
		got, err := events(r, 100, 100)
		if diff := cmp.Diff([]string{"|a"}, got); diff != "" || !errors.Is(err, errTooLarge) {
			t.Errorf("%s: error %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func FuzzEvents(f *testing.F) {
	for _, s := range []string{"data: a\n\n", "\xEF\xBB\xBFevent: e\r\ndata:a\rdata: b\n\n", ": c\n\n{\"error\":1}", "data\n\n\ndata: [DONE]"} {
		f.Add([]byte(s))
	}
	for _, q := range corpusForFuzz(f) {
		f.Add([]byte(q.Wire))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		all, errAll := events(bytes.NewReader(in), 256, 1024)
		bytewise, errByte := events(iotest.OneByteReader(bytes.NewReader(in)), 256, 1024)
		if diff := cmp.Diff(all, bytewise); diff != "" || (errAll == io.EOF) != (errByte == io.EOF) {
			t.Fatalf("reads differ by how it is cut: %v / %v\n%s", errAll, errByte, diff)
		}
		for _, ev := range all {
			if len(ev) > 1024+256+1 || strings.ContainsRune(ev, '\r') {
				t.Fatalf("event of %d bytes: %q", len(ev), ev)
			}
		}
	})
}

// corpusForFuzz is the corpus as seeds, nothing when it is not at hand.
func corpusForFuzz(f *testing.F) []quirk {
	f.Helper()
	qs, err := readCorpus(f)
	if err != nil {
		f.Logf("no corpus for seeds: %v", err)
	}
	return qs
}
