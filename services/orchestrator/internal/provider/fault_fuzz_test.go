package provider

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/storable"
)

// FuzzAnswer sends any bytes under any status as the answer to a call, whole and
// byte by byte, and holds what comes of it to what is promised.
func FuzzAnswer(f *testing.F) {
	for _, q := range corpusForFuzz(f) {
		f.Add(uint16(q.Status), uint8(len(q.Profile.TextCalls)), []byte(q.Wire))
	}
	for _, b := range bodies {
		f.Add(uint16(400), uint8(0), []byte(b.body))
	}
	f.Add(uint16(200), uint8(0x80), []byte(compressed(okStream)))
	f.Add(uint16(302), uint8(0), []byte("Location: /x"))
	profiles := []Profile{{AnyTool: true}, {ThinkTags: true, TextCalls: Hermes, AnyTool: true}, {TextCalls: QwenCoder, AnyTool: true}, {TextCalls: GLM, AnyTool: true}, {TextCalls: DSML, AnyTool: true}}
	f.Fuzz(func(t *testing.T, status uint16, how uint8, body []byte) {
		header := map[string]string{}
		if how >= 0x80 {
			header["Content-Encoding"] = "gzip"
		}
		cfg := Config{MaxLine: 1 << 11, MaxMessage: 1 << 12, MaxCalls: 4, Profile: profiles[int(how&0x7F)%len(profiles)]}
		type reading struct {
			resp   Response
			deltas []Delta
			err    error
		}
		read := func(next func() int) (r reading) {
			cfg.HTTPTransport = answer(200+int(status)%400, header, string(body), next)
			c, err := New(cfg.named())
			if err != nil {
				t.Fatal(err)
			}
			r.resp, r.deltas, r.err = ask(c, hello)
			return r
		}
		whole, bytewise := read(whole), read(one)

		if whole.err == nil && (whole.resp.Finish == "" || (whole.resp.Finish == FinishToolCalls) != (len(whole.resp.Calls) > 0)) {
			t.Fatalf("finish %q with %d calls", whole.resp.Finish, len(whole.resp.Calls))
		}
		if e, ok := errors.AsType[*Error](whole.err); whole.err != nil && (!ok || e.Kind == "" || e.Message == "" || len([]rune(e.Detail)) > maxDetail || !storable.Is(e.Message+e.Detail+e.Code+e.RequestID)) {
			t.Fatalf("error %+v", whole.err)
		}
		if len(whole.resp.Text)+len(whole.resp.Reasoning) > cfg.MaxMessage || len(whole.resp.Calls) > cfg.MaxCalls {
			t.Fatal("over the limits")
		}
		streamed := map[DeltaKind]string{}
		for _, d := range whole.deltas {
			streamed[d.Kind] += d.Text
		}
		if streamed[Text] != whole.resp.Text || streamed[Reasoning] != whole.resp.Reasoning {
			t.Fatalf("streamed %v, kept %q and %q", streamed, whole.resp.Text, whole.resp.Reasoning)
		}
		for what, text := range texts(whole.resp, whole.deltas) {
			if !storable.Is(text) {
				t.Fatalf("%s = %q", what, text)
			}
		}
		if kindOfError(whole.err) != kindOfError(bytewise.err) || !reflect.DeepEqual(ownIDs(whole.resp), ownIDs(bytewise.resp)) {
			t.Fatalf("reads differ by how it is cut:\n%+v %v\n%+v %v", whole.resp, whole.err, bytewise.resp, bytewise.err)
		}
	})
}

// named is the configuration with what every client needs.
func (c Config) named() Config {
	c.Model, c.APIURL = "test-model", "http://model.invalid/v1"
	return c
}

func kindOfError(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}

// ownIDs is the response without the ids of calls, which may be ours and random.
func ownIDs(r Response) Response {
	calls := make([]Call, len(r.Calls))
	for i, c := range r.Calls {
		c.ID = ""
		calls[i] = c
	}
	r.Calls = calls
	return r
}

// FuzzFailure reads any bytes as the body of an error.
func FuzzFailure(f *testing.F) {
	for _, b := range bodies {
		f.Add(uint16(400), []byte(b.body))
	}
	f.Add(uint16(200), []byte(`{"error":{"code":"429","message":"x","param":["a"]}}`))
	f.Add(uint16(500), []byte(strings.Repeat(`{"error":`, 20)+"1"+strings.Repeat("}", 20)))
	f.Fuzz(func(t *testing.T, status uint16, body []byte) {
		said := readFailure(body)
		if kindOf(200+int(status)%400, said) == "" {
			t.Fatal("a failure of no kind")
		}
		if json.Valid(body) && len(said.message) > len(body)*3 {
			t.Fatalf("%d bytes are said in %d", len(body), len(said.message))
		}
	})
}
