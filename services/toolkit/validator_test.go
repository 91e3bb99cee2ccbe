package toolkit

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
)

func validator(t testing.TB, schema string) *Validator {
	t.Helper()
	v, err := NewValidator([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// searchSchema has what tools usually ask for.
const searchSchema = `{"type":"object","additionalProperties":false,"required":["query"],"properties":{
	"query":{"type":"string","minLength":2,"maxLength":20},
	"max_results":{"type":"integer","minimum":1,"maximum":10,"default":5},
	"ratio":{"type":"number","minimum":0.5},
	"fresh":{"type":"boolean"},
	"domains":{"type":"array","items":{"type":"string"},"maxItems":2},
	"kind":{"enum":["text","links"]},
	"code":{"type":"string","pattern":"^[a-z]+$"},
	"maybe":{"anyOf":[{"type":"integer"},{"type":"null"}]},
	"range":{"type":"object","properties":{"from":{"$ref":"#/$defs/day"}},"required":["from"]}},
	"$defs":{"day":{"type":"integer","minimum":1,"maximum":31}}}`

func TestCheckRepairsWhatCanBeMeantInOneWay(t *testing.T) {
	v := validator(t, searchSchema)
	for _, c := range []struct {
		name    string
		in      string
		want    string
		changes []string
	}{
		{"good arguments get their defaults", `{"query":"go"}`, `{"max_results":5,"query":"go"}`, nil},
		{"a number in a string", `{"query":"go","max_results":" 3 "}`, `{"max_results":3,"query":"go"}`,
			[]string{`/max_results: " 3 " read as an integer`}},
		{"a number beyond the bound", `{"query":"go","max_results":50}`, `{"max_results":10,"query":"go"}`,
			[]string{`/max_results: 50 is out of range, 10 taken`}},
		{"a number below the bound", `{"query":"go","max_results":1,"ratio":-2}`, `{"max_results":1,"query":"go","ratio":0.5}`,
			[]string{`/ratio: -2 is out of range, 0.5 taken`}},
		{"an integer written with a fraction", `{"query":"go","max_results":3.0}`, `{"max_results":3,"query":"go"}`, nil},
		{"a boolean in a string", `{"query":"go","max_results":1,"fresh":"True"}`, `{"fresh":true,"max_results":1,"query":"go"}`,
			[]string{`/fresh: "True" read as a boolean`}},
		{"a number for a string", `{"query":42,"max_results":1}`, `{"max_results":1,"query":"42"}`,
			[]string{`/query: 42 read as a string`}},
		{"an array in a string", `{"query":"go","max_results":1,"domains":"[\"a\"]"}`, `{"domains":["a"],"max_results":1,"query":"go"}`,
			[]string{`/domains: "[\"a\"]" read as an array`}},
		{"one item for a list", `{"query":"go","max_results":1,"domains":"a.com"}`, `{"domains":["a.com"],"max_results":1,"query":"go"}`,
			[]string{`/domains: "a.com" read as an array`}},
		{"null for not given", `{"query":"go","max_results":null}`, `{"max_results":5,"query":"go"}`,
			[]string{`/max_results: null left out`}},
		{"null where null is a value", `{"query":"go","max_results":1,"maybe":null}`, `{"max_results":1,"maybe":null,"query":"go"}`, nil},
		{"a string for one of two types", `{"query":"go","max_results":1,"maybe":"7"}`, `{"max_results":1,"maybe":7,"query":"go"}`,
			[]string{`/maybe: "7" read as an integer`}},
		{"deep and behind a reference", `{"query":"go","max_results":1,"range":{"from":"40"}}`, `{"max_results":1,"query":"go","range":{"from":31}}`,
			[]string{`/range/from: "40" read as an integer`, `/range/from: 40 is out of range, 31 taken`}},
		{"the whole in a string", `"{\"query\":\"go\",\"max_results\":1}"`, `{"max_results":1,"query":"go"}`,
			[]string{`the arguments: "{\"query\":\"go\",\"max_results\":1}" read as an object`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, changes, err := v.Check([]byte(c.in))
			if err != nil || string(got) != c.want || !slices.Equal(changes, c.changes) {
				t.Fatalf("got %s, %q, %v; want %s, %q", got, changes, err, c.want, c.changes)
			}
			again, changes, err := v.Check(got)
			if err != nil || string(again) != string(got) || changes != nil {
				t.Errorf("checked again: %s, %q, %v", again, changes, err)
			}
		})
	}
}

func TestCheckRefusesInWordsAModelCanActOn(t *testing.T) {
	v := validator(t, searchSchema)
	for _, c := range []struct{ name, in, want string }{
		{"what is missing", `{}`, `/query: expected a string (required), got nothing`},
		{"no JSON", `{"query":`, `the arguments: expected one well-formed JSON object, got text that is not: at byte 9: the text ends where a value should be`},
		{"no object", `[1]`, `the arguments: expected an object, got an array of 1 items`},
		{"a wrong type", `{"query":{}}`, `/query: expected a string, got an object of 0 properties`},
		{"words for a number", `{"query":"go","max_results":"ten"}`, `/max_results: expected an integer from 1 to 10, got "ten"`},
		{"a fraction for an integer", `{"query":"go","max_results":2.5}`, `/max_results: expected an integer from 1 to 10, got 2.5`},
		{"too short", `{"query":"g"}`, `/query: expected at least 2 characters, got 1: "g"`},
		{"too long", `{"query":"` + strings.Repeat("é", 21) + `"}`, `/query: expected at most 20 characters, got 21`},
		{"no choice", `{"query":"go","kind":"image"}`, `/kind: expected one of "text", "links", got "image"`},
		{"no match", `{"query":"go","code":"A"}`, `/code: expected text that matches ^[a-z]+$, got "A"`},
		{"too many", `{"query":"go","domains":["a","b","c"]}`, `/domains: expected at most 2 items, got 3`},
		{"an item", `{"query":"go","domains":["a",{}]}`, `/domains/1: expected a string, got an object of 0 properties`},
		{"a broken list", `{"query":"go","domains":"[\"a"}`, `/domains: expected an array, got "[\"a"`},
		{"none of two types", `{"query":"go","maybe":"x"}`, `/maybe: expected an integer or null, got "x"`},
		{"deep", `{"query":"go","range":{}}`, `/range/from: expected an integer from 1 to 31 (required), got nothing`},
		{"an unknown property", `{"query":"go","a/b~c":1}`, `/a~1b~0c: expected only the properties code, domains, fresh, kind, max_results, maybe, query, range, ratio, got an unknown property`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := v.Check([]byte(c.in))
			wrong, ok := errors.AsType[*ArgumentError](err)
			if !ok || wrong.Error() != c.want {
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

func TestCheckExactFillsDefaultsAndRepairsNothing(t *testing.T) {
	v := validator(t, searchSchema)
	if got, err := v.CheckExact([]byte(`{"query":"go"}`)); err != nil || string(got) != `{"max_results":5,"query":"go"}` {
		t.Errorf("got %s, %v", got, err)
	}
	for _, in := range []string{`{"query":"go","max_results":"3"}`, `{"query":"go","max_results":50}`, `{"query":"go","max_results":null}`} {
		if got, err := v.CheckExact([]byte(in)); err == nil {
			t.Errorf("%s became %s", in, got)
		}
	}
}

func TestCoerceDoesNotTouchItsInput(t *testing.T) {
	in := map[string]any{"query": json.Number("12"), "domains": "a"}
	got, changes := validator(t, searchSchema).Coerce(in)
	if out := got.(map[string]any); out["query"] != "12" || len(changes) != 2 {
		t.Errorf("got %v, %q", got, changes)
	}
	if in["query"] != json.Number("12") || in["domains"] != "a" {
		t.Errorf("the input became %v", in)
	}
}

func TestKeywordsThatOnlyTheLibraryKnowsStillDecide(t *testing.T) {
	v := validator(t, `{"type":"object","properties":{"a":{"not":{"const":1}},"b":{"uniqueItems":true}},
		"if":{"required":["a"]},"then":{"required":["b"]}}`)
	for in, ok := range map[string]bool{`{"a":1,"b":[]}`: false, `{"a":2}`: false, `{"a":2,"b":[1,1.0]}`: false, `{"a":2,"b":[1,2]}`: true} {
		if _, _, err := v.Check([]byte(in)); (err == nil) != ok {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestSchemasOfStrangersThatAreRefused(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"no JSON", `{`, "not good JSON"},
		{"no schema", `{"type":5}`, "not a JSON Schema"},
		{"not of an object", `{"type":"string"}`, "not of an object"},
		{"too long", `{"description":"` + strings.Repeat("x", MaxSchemaBytes) + `"}`, "over the limit"},
		{"too deep", strings.Repeat(`{"items":`, 65) + "true" + strings.Repeat("}", 65), "nested deeper"},
		{"a remote reference", `{"properties":{"a":{"$ref":"https://example.com/s.json"}}}`, "only references into itself"},
		{"a file reference", `{"properties":{"a":{"$ref":"other.json#/x"}}}`, "only references into itself"},
		{"a missing reference", `{"properties":{"a":{"$ref":"#/$defs/nobody"}}}`, "which it does not have"},
		{"a dynamic reference", `{"properties":{"a":{"$dynamicRef":"#x"}}}`, "$dynamicRef"},
		{"an $id inside", `{"properties":{"a":{"$id":"https://example.com/a"}}}`, "$id"},
		{"itself in place", `{"$ref":"#"}`, "refers to itself"},
		{"two that apply each other", `{"$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"anyOf":[{"$ref":"#/$defs/a"}]}}}`, "refers to itself"},
		{"another draft", `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`, "draft-04"},
		{"a bad pattern", `{"properties":{"a":{"pattern":"(?=x)"}}}`, "pattern at #/properties/a"},
		{"null for a schema", `{"properties":{"a":null}}`, "is null"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := NewValidator([]byte(c.schema)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestSchemasOfStrangersThatAreTaken(t *testing.T) {
	for _, c := range []struct{ name, schema, in, want string }{
		{"no type", `{}`, `{"a":1}`, `{"a":1}`},
		{"an $id of its own", `{"$id":"https://example.com/a","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"integer"}}}`, `{"a":"1"}`, `{"a":1}`},
		{"draft-07 with definitions", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"$ref":"#/definitions/a"}},"definitions":{"a":{"type":"integer"}}}`, `{"a":"1"}`, `{"a":1}`},
		{"a tree that refers to itself deeper", `{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#"}},"n":{"type":"integer"}}}`, `{"kids":[{"n":"1","kids":[]}]}`, `{"kids":[{"kids":[],"n":1}]}`},
		{"a default that breaks its schema is passed over", `{"properties":{"a":{"type":"string","default":null},"b":{"type":"integer","default":1}}}`, `{}`, `{"b":1}`},
		{"a default of what is required", `{"properties":{"a":{"type":"integer","default":1}},"required":["a"]}`, ``, `{"a":1}`},
		{"a large integer", `{"properties":{"id":{"type":"integer"}}}`, `{"id":9007199254740993}`, `{"id":9007199254740993}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := validator(t, c.schema).Check([]byte(c.in))
			if err != nil || string(got) != c.want {
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
	t.Run("none at all", func(t *testing.T) {
		v, err := NewValidatorStruct(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := v.Check([]byte(`{"a":1}`)); err != nil || string(got) != `{"a":1}` {
			t.Errorf("got %s, %v", got, err)
		}
	})
	t.Run("as it travels", func(t *testing.T) {
		s, err := structpb.NewStruct(map[string]any{"properties": map[string]any{"a": map[string]any{"type": "integer", "maximum": 3}}})
		if err != nil {
			t.Fatal(err)
		}
		v, err := NewValidatorStruct(s)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := v.Check([]byte(`{"a":9}`)); err != nil || string(got) != `{"a":3}` {
			t.Errorf("got %s, %v", got, err)
		}
	})
}

// A check that needs 2^n steps must give up, not run.
func TestSchemasThatExplodeAreCutShort(t *testing.T) {
	var doubling strings.Builder // each level applies the next one twice
	doubling.WriteString(`{"type":"object","properties":{"a":{"$ref":"#/$defs/l0"}},"$defs":{`)
	for i := range 60 {
		fmt.Fprintf(&doubling, `"l%d":{"allOf":[{"$ref":"#/$defs/l%d"},{"$ref":"#/$defs/l%d"}]},`, i, i+1, i+1)
	}
	doubling.WriteString(`"l60":{"type":"integer"}}}`)
	nested := `{"type":"object","additionalProperties":{"$ref":"#/$defs/s"},"$defs":{"s":{"anyOf":[
		{"type":"array","items":{"$ref":"#/$defs/s"},"minItems":1},{"type":"array","items":{"$ref":"#/$defs/s"},"maxItems":9},{"type":"integer"}]}}}`
	many := `{"type":"object","additionalProperties":{"anyOf":[` + strings.Repeat(`{"type":"integer"},`, 10_000) + `{"type":"string"}]}}`
	var wide strings.Builder
	wide.WriteString(`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{`)
	for i := range 5000 {
		fmt.Fprintf(&wide, `"p%d":{"type":"integer","default":1},`, i)
	}
	wide.WriteString(`"last":{}}}}}}`)
	hollow := `{"a":[` + strings.Repeat(`{},`, 200_000) + `{}]}`
	for _, c := range []struct{ name, schema, in string }{
		{"many properties of many empty objects", wide.String(), hollow},
		{"references that double", doubling.String(), `{"a":"1"}`},
		{"branches at every depth", nested, `{"a":` + strings.Repeat("[", 60) + `"x"` + strings.Repeat("]", 60) + `}`},
		{"branches that each write a long value down", many, `{"a":"` + strings.Repeat("x", 1<<19) + `"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := validator(t, c.schema)
			start := time.Now()
			_, _, err := v.Check([]byte(c.in))
			if wrong, ok := errors.AsType[*ArgumentError](err); !ok {
				t.Errorf("got %v", err)
			} else {
				t.Log(time.Since(start), wrong)
			}
		})
	}
}

func FuzzCheck(f *testing.F) {
	for _, seed := range []string{`{"query":"go","max_results":"50"}`, `{"query":1,"domains":"[\"a\",3]","range":{"from":"x"}}`, `"{}"`, `{"maybe":"1"}`, `{"query":null}`} {
		f.Add([]byte(seed))
	}
	v := validator(f, searchSchema)
	f.Fuzz(func(t *testing.T, in []byte) {
		got, _, err := v.Check(in)
		if err != nil {
			if _, ok := errors.AsType[*ArgumentError](err); !ok || len(err.Error()) > 2048 {
				t.Fatalf("a bad error: %v", err)
			}
			return
		}
		again, changes, err := v.Check(got)
		if err != nil || string(again) != string(got) || changes != nil {
			t.Fatalf("not idempotent: %s, then %s, %q, %v", got, again, changes, err)
		}
		if exact, err := v.CheckExact(got); err != nil || string(exact) != string(got) {
			t.Fatalf("checked arguments are refused: %s: %v", exact, err)
		}
	})
}

func FuzzSchema(f *testing.F) {
	f.Add([]byte(searchSchema), []byte(`{"query":"1"}`))
	f.Add([]byte(`{"properties":{"a":{"$ref":"#"}}}`), []byte(`{"a":{"a":{}}}`))
	f.Add([]byte(`{"oneOf":[{"required":["a"]},{"minProperties":2}],"dependentRequired":{"a":["b"]}}`), []byte(`{"a":1}`))
	f.Fuzz(func(t *testing.T, schema, in []byte) {
		v, err := NewValidator(schema)
		if err != nil {
			return
		}
		if got, _, err := v.Check(in); err == nil && !json.Valid(got) {
			t.Fatalf("%s is no JSON", got)
		}
	})
}

func TestTheLargestHonestArgumentsAreTaken(t *testing.T) {
	v := validator(t, `{"type":"object","properties":{"n":{"type":"array","items":{"type":"integer","minimum":0}}}}`)
	in := `{"n":[` + strings.Repeat("1,", MaxArgumentBytes/2-8) + `1]}`
	if got, _, err := v.Check([]byte(in)); err != nil || string(got) != in {
		t.Errorf("%d bytes: %v", len(in), err)
	}
}
