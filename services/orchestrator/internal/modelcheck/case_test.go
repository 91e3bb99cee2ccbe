package modelcheck

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

func TestTheSameSeedMakesTheSameCases(t *testing.T) {
	few, many := Generate(7, 20, 100), Generate(7, 60, 100)
	if diff := cmp.Diff(few, many[:20]); diff != "" {
		t.Errorf("the first cases of many differ from few\n%s", diff)
	}
	if cmp.Equal(few, Generate(8, 20, 100)) {
		t.Error("another seed makes the same cases")
	}
}

func TestEveryKindIsAskedInTurn(t *testing.T) {
	all := Kinds()
	if len(all) != 18 {
		t.Errorf("%d kinds", len(all))
	}
	for i, c := range Generate(1, 2*len(all), 100) {
		if c.Kind != all[i%len(all)] || c.Nth != i || c.Request.MaxTokens != 100 {
			t.Errorf("case %d is %s, number %d", i, c.Kind, c.Nth)
		}
	}
}

// Whatever the seed, what is asked for can be answered: the tools are there, their
// schemas take the arguments, every value that is wanted stands in the prompt.
func TestEveryCaseCanBeAnswered(t *testing.T) {
	for seed := range uint64(40) {
		for _, c := range Generate(seed, len(kinds), 100) {
			if (len(c.Want) == 0) != (c.Kind == NoTool) || (len(c.Want) > 1) != (c.Kind == Parallel) {
				t.Fatalf("seed %d: %s wants %d calls", seed, c.Kind, len(c.Want))
			}
			var prompt strings.Builder
			for _, m := range c.Request.Messages {
				prompt.WriteString(m.Content + "\n")
			}
			for _, w := range c.Want {
				v := c.validator(w.Tool)
				if v == nil {
					t.Fatalf("seed %d: %s wants %s, which is not offered", seed, c.Kind, w.Tool)
				}
				again, changes, err := v.Check([]byte(w.Arguments))
				if err != nil || string(again) != w.Arguments || len(changes) > 0 {
					t.Fatalf("seed %d: %s wants %s: %v, %v", seed, c.Kind, w.Arguments, changes, err)
				}
				var args map[string]any
				if err := json.Unmarshal([]byte(w.Arguments), &args); err != nil {
					t.Fatal(err)
				}
				for name, value := range args {
					if text, ok := value.(string); ok && !(c.Kind == Defaults && name == "order") && !strings.Contains(prompt.String(), text) {
						t.Fatalf("seed %d: %s does not say %q", seed, c.Kind, text)
					}
				}
			}
		}
	}
}

func TestValuesAreToldByTheirPlaces(t *testing.T) {
	got := outline(object{
		{"name", "a \"b\"\nc"}, {"n", int64(-3)}, {"x", json.Number("0.00001")}, {"yes", true},
		{"deep", object{{"list", []any{"one", object{{"two", int64(2)}}}}}},
	})
	_, got, _ = strings.Cut(got, "\n")
	want := "name = <v>a \"b\"\nc</v>\nn = -3\nx = 0.00001\nyes = true\ndeep.list[0] = <v>one</v>\ndeep.list[1].two = 2\n"
	if got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// perfect answers a case as it was asked.
func perfect(c Case) Answer {
	a := Answer{Response: provider.Response{Finish: provider.FinishStop, Text: "5"}}
	for i, w := range c.Want {
		a.Response.Finish = provider.FinishToolCalls
		a.Response.Calls = append(a.Response.Calls, provider.Call{ID: string(rune('a' + i)), Name: w.Tool, Arguments: w.Arguments})
	}
	return a
}

func TestAPerfectAnswerPassesEveryCase(t *testing.T) {
	for seed := range uint64(10) {
		for _, c := range Generate(seed, len(kinds), 100) {
			if r := Judge(c, perfect(c)); !r.Passed {
				t.Errorf("seed %d: %s: %+v", seed, c.Kind, r.Calls)
			}
		}
	}
}

// one is a case of one tool with one call.
func one(t *testing.T) Case {
	t.Helper()
	c := Case{Kind: Flat, Request: provider.Request{Tools: []provider.ToolSpec{{
		Name: "set", Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string"}},"required":["n","s"],"additionalProperties":false}`),
	}}}, Want: []Wanted{{"set", `{"n":5,"s":"it's \"so\""}`}}}
	if _, err := toolkit.NewValidator(c.Request.Tools[0].Parameters); err != nil {
		t.Fatal(err)
	}
	return c
}
