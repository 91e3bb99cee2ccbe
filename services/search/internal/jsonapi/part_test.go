package jsonapi

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

type item struct {
	A Text `json:"a"`
}

func TestAListIsReadRowByRow(t *testing.T) {
	cases := []struct {
		name, in string
		there    bool
		want     []item
	}{
		{"rows", `{"l":[{"a":"x"},{"a":"y"}]}`, true, []item{{"x"}, {"y"}}},
		{"an empty list", `{"l":[]}`, true, nil},
		{"rows of other forms", `{"l":[{"a":"x"},null,7,"z",[{"a":"y"}],{}]}`, true, []item{{"x"}, {}, {}, {}, {}, {}}},
		{"no list", `{}`, false, nil},
		{"null", `{"l":null}`, false, nil},
		{"an object", `{"l":{"a":"x"}}`, false, nil},
		{"a number", `{"l":7}`, false, nil},
		{"twice", `{"l":[{"a":"x"}],"l":[]}`, false, nil},
		{"twice in other letters", `{"l":[{"a":"x"}],"L":[{"a":"y"}]}`, false, nil},
		{"three times", `{"l":[],"l":[],"l":[]}`, false, nil},
		{"null first", `{"l":null,"l":[]}`, false, nil},
	}
	for _, c := range cases {
		var got struct {
			L List[item] `json:"l"`
		}
		if err := json.Unmarshal([]byte(c.in), &got); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got.L.There != c.there || !slices.Equal(got.L.Rows, c.want) || got.L.Empty() != (c.there && c.want == nil) {
			t.Errorf("%s: got %+v", c.name, got.L)
		}
	}
}

func TestAPartOfAnotherFormIsNone(t *testing.T) {
	for in, want := range map[string]Maybe[item]{
		`{"p":{"a":"x"}}`:               {Value: item{"x"}, There: true},
		`{"p":{}}`:                      {There: true},
		`{}`:                            {},
		`{"p":null}`:                    {},
		`{"p":[{"a":"x"}]}`:             {There: true},
		`{"p":"x"}`:                     {There: true},
		`{"p":{"a":"x"},"p":{"a":"y"}}`: {There: true},
		`{"p":{"a":"x"},"p":null}`:      {There: true},
	} {
		var got struct {
			P Maybe[item] `json:"p"`
		}
		if err := json.Unmarshal([]byte(in), &got); err != nil {
			t.Errorf("%s: %v", in, err)
		}
		if got.P.Value != want.Value || got.P.There != want.There {
			t.Errorf("%s: got %+v", in, got.P)
		}
	}
}

func TestAPriceIsNeverNegativeOrEndless(t *testing.T) {
	for in, want := range map[string]Number{
		"7": 7, "0.5": 0.5, `"0.5"`: 0.5, `" 2 "`: 2, "1e3": 1000, "-1": 0, `"-1"`: 0, "1e400": 0, `"Inf"`: 0, `"NaN"`: 0, "null": 0, `"x"`: 0, "[7]": 0, "{}": 0, "true": 0,
	} {
		got := Number(1)
		if err := json.Unmarshal([]byte(in), &got); err != nil || got != want {
			t.Errorf("%s: got %v (%v), want %v", in, got, err, want)
		}
	}
}

func TestWhatFailedMayBeSaidWithAStatusOfSuccess(t *testing.T) {
	for body, want := range map[string]outcome.Code{
		`{"why":"key"}`:  outcome.AuthFailed,
		`{"why":"pace"}`: outcome.RateLimited,
		`{"why":"?"}`:    outcome.LayoutUnrecognised,
	} {
		if _, o := Read(adapter.Response{Status: 200, Body: []byte(body)}, refuse, readList); o.Code != want {
			t.Errorf("%s: %s (%s), want %s", body, o.Code, o.Detail, want)
		}
	}
}
