package provider

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/storable"
)

// texts are all texts of an answer, with what was streamed of it.
func texts(r Response, deltas []Delta) map[string]string {
	all := map[string]string{
		"text": r.Text, "reasoning": r.Reasoning, "field": r.ReasoningField, "model": r.Model, "request id": r.RequestID,
		"extra": string(r.Extra), "warnings": strings.Join(r.Warnings, "|"),
	}
	for i, c := range r.Calls {
		all[fmt.Sprint("id ", i)], all[fmt.Sprint("name ", i)], all[fmt.Sprint("arguments ", i)] = c.ID, c.Name, c.Arguments
		all[fmt.Sprint("extra ", i)] = string(c.Extra)
	}
	for i, d := range deltas {
		all[fmt.Sprint("delta ", i)] = d.Text + d.Call.ID + d.Call.Name + d.Call.Arguments
	}
	return all
}

func TestWhatCannotBeStoredIsMendedBeforeAnybodySeesIt(t *testing.T) {
	const nul, half, cut = `\u0000`, `\ud83d`, "\xe7\xba" // in JSON, in JSON, as bytes
	for _, bad := range []struct{ name, piece string }{
		{"U+0000", nul}, {"half a surrogate pair", half}, {"bytes that are no character", cut}, {"all of them", nul + half + cut},
	} {
		for _, place := range []struct{ name, delta string }{
			{"text", `"content":"a~b"`},
			{"text in parts", `"content":[{"text":"a~b"},{"thinking":"a~b"}]`},
			{"refusal", `"refusal":"a~b"`},
			{"reasoning", `"reasoning_content":"a~b"`},
			{"reasoning by another name", `"reasoning":"a~b"`},
			{"reasoning details", `"reasoning_details":[{"t":"a~b","a~b":1}]`},
			{"a call", `"tool_calls":[{"id":"a~b","function":{"name":"a~b","arguments":"{\"q\":\"a~b\"}"}}]`},
			{"a call with an object", `"tool_calls":[{"id":"1","function":{"name":"f","arguments":{"q":"a~b"}}}]`},
			{"a call in pieces", `"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{\"q\":\"a~"}},{"index":0,"function":{"arguments":"~b\"}"}}]`},
			{"the form before tool_calls", `"function_call":{"name":"a~b","arguments":"a~b"}`},
			{"members to pass back", `"tool_calls":[{"id":"1","x~":"a~b","function":{"name":"f","y":"a~b"}}]`},
		} {
			t.Run(bad.name+" in "+place.name, func(t *testing.T) {
				c := serve(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("X-Request-Id", "a\xffb")
					frames := `data: {"id":"a~b","model":"a~b","choices":[{"delta":{` + place.delta + "}}]}\n\n" +
						`data: {"choices":[{"delta":{},"finish_reason":"a~b"}]}` + "\n\ndata: [DONE]\n\n"
					fmt.Fprint(w, strings.ReplaceAll(frames, "~", bad.piece))
				})
				resp, deltas, err := ask(c, hello)
				if err != nil {
					t.Fatal(err)
				}
				for what, text := range texts(resp, deltas) {
					if !storable.Is(text) {
						t.Errorf("%s = %q", what, text)
					}
				}
				streamed := map[DeltaKind]string{}
				for _, d := range deltas {
					streamed[d.Kind] += d.Text + d.Call.Arguments
				}
				if streamed[Text] != resp.Text || streamed[Reasoning] != resp.Reasoning {
					t.Errorf("streamed %v, kept %q and %q", streamed, resp.Text, resp.Reasoning)
				}
				if place.name == "text" && strings.ReplaceAll(resp.Text, "\uFFFD", "") != "ab" {
					t.Errorf("text = %q", resp.Text)
				}
				for _, call := range resp.Calls {
					if streamed[CallPiece] != call.Arguments && call.Arguments != "{}" {
						t.Errorf("streamed %q, kept %q", streamed[CallPiece], call.Arguments)
					}
					if call.Extra != nil && !json.Valid(call.Extra) {
						t.Errorf("extra is not JSON any more: %s", call.Extra)
					}
				}
			})
		}
	}
}

func TestACharacterCutBetweenTwoChunksIsNotStoredAsBytes(t *testing.T) {
	for _, tc := range []struct{ name, first, second string }{
		{"as bytes", "\xe7\xba", "\xb3"},
		{"as escapes", `\ud83d`, `\ude00`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := serve(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
				for _, piece := range []string{tc.first, tc.second} {
					fmt.Fprintf(w, `data: {"choices":[{"delta":{"content":"a%sb"}}]}`+"\n\n", piece)
				}
				fmt.Fprint(w, "data: [DONE]\n\n")
			})
			resp, deltas, err := ask(c, hello)
			if err != nil {
				t.Fatal(err)
			}
			if got := deltas[0].Text + deltas[1].Text; got != resp.Text || !storable.Is(resp.Text) || strings.Trim(resp.Text, "ab\uFFFD") != "" {
				t.Errorf("streamed %q, kept %q", got, resp.Text)
			}
		})
	}
}

func TestWhatAnErrorSaysCanBeStored(t *testing.T) {
	for _, tc := range []struct {
		name string
		h    http.HandlerFunc
	}{
		{"in an answer", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":{"message":"a\u0000b`+"\xff"+`c\ud800","code":"x\u0000y","type":"\u0000"}}`)
		}},
		{"in a stream", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `data: {"error":{"message":"a\u0000b`+"\xff"+`c","code":"x\u0000y"}}`+"\n\n")
		}},
		{"in a page", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html><title>a\x00b\xff</title>") }},
		{"as text", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, "bad \x00 gateway \xff")
		}},
		{"in a redirect", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://a/\xff%00")
			w.WriteHeader(http.StatusFound)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := ask(serve(t, Config{}, tc.h), hello)
			e, ok := err.(*Error)
			if !ok {
				t.Fatalf("err = %v", err)
			}
			for _, text := range []string{e.Message, e.Detail, e.Code, e.RequestID, string(e.Kind)} {
				if !storable.Is(text) {
					t.Errorf("%q", text)
				}
			}
		})
	}
}
