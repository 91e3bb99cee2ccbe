package toolkit

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestCanonicalForm(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"spaces go, names are sorted", " { \"b\" : 1 ,\n\"a\":[ 1 , 2 ] } ", `{"a":[1,2],"b":1}`},
		{"order of items stays", `[3,1,2]`, `[3,1,2]`},
		{"words", `[true,false,null]`, `[true,false,null]`},
		{"empty containers", `[{},[],""]`, `[{},[],""]`},
		{"minus zero", `[-0,-0.0,0e5]`, `[0,0,0]`},
		{"one without its fraction", `[1.0,10e-1,1E0]`, `[1,1,1]`},
		{"largest number in plain digits", `1e20`, `100000000000000000000`},
		{"first number with an exponent", `1e21`, `1e+21`},
		{"smallest number in plain digits", `0.000001`, `0.000001`},
		{"first negative exponent", `0.0000001`, `1e-7`},
		{"a long fraction is rounded to a double", `0.1000000000000000055511151231257827`, `0.1`},
		{"shortest form that reads back", `[4.5e-10,333333333.33333329,2e-3]`, `[4.5e-10,333333333.3333333,0.002]`},
		{"largest double", `1.7976931348623157e308`, `1.7976931348623157e+308`},
		{"smallest double", `5e-324`, `5e-324`},
		{"2^53", `9007199254740992`, `9007199254740992`},
		{"an integer beyond 2^53 as written", `[9007199254740993,-9223372036854775809]`, `[9007199254740993,-9223372036854775809]`},
		{"an integer of 30 digits as written", `123456789012345678901234567890`, `123456789012345678901234567890`},
		{"the same with a point is a double", `9007199254740993.0`, `9007199254740992`},
		{"escapes are undone", `"\u0041\/\u00e9\ud83d\ude00"`, `"A/é😀"`},
		{"short escapes", `"\b\t\n\f\r\"\\"`, `"\b\t\n\f\r\"\\"`},
		{"other control characters", `"\u0000\u001F\u007f"`, "\"\\u0000\\u001f\x7f\""},
		{"HTML and line separators stay", "\"<&>\u2028\"", "\"<&>\u2028\""},
		{"names by UTF-16 units", `{"\ufb33":1,"\ud83d\ude00":2,"\u20ac":3,"1":4,"\r":5,"\u00f6":6,"\u0080":7}`,
			"{\"\\r\":5,\"1\":4,\"\u0080\":7,\"ö\":6,\"€\":3,\"😀\":2,\"\ufb33\":1}"},
		{"a name before the longer one", `{"ab":1,"a":2,"":3}`, `{"":3,"a":2,"ab":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Canonical([]byte(c.in))
			if err != nil || string(got) != c.want {
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

func TestCanonicalRefuses(t *testing.T) {
	deep := strings.Repeat("[", MaxArgumentDepth+1) + strings.Repeat("]", MaxArgumentDepth+1)
	for _, c := range []struct{ name, in, want string }{
		{"nothing", ``, "the text ends"},
		{"a property twice", `{"a":1,"a":2}`, `property "a" is there twice`},
		{"a property twice, once escaped", `{"a":1,"\u0061":2}`, `property "a" is there twice`},
		{"invalid UTF-8", "\"\xff\"", "not valid UTF-8"},
		{"invalid UTF-8 after an escape", "\"\\n\xff\"", "not valid UTF-8"},
		{"UTF-8 of a surrogate", "\"\xed\xa0\x80\"", "not valid UTF-8"},
		{"a high surrogate alone", `"\ud800"`, "surrogate"},
		{"a high surrogate before another", `"\ud800\ud800"`, "surrogate"},
		{"a low surrogate alone", `"\udc00x"`, "surrogate"},
		{"a number beyond a double", `1e400`, "too large"},
		{"an integer beyond a double", strings.Repeat("9", 400), "too large"},
		{"too deep", deep, "nested deeper than 64"},
		{"too long", `"` + strings.Repeat("x", MaxArgumentBytes) + `"`, "over the limit"},
		{"what grows too long", "[" + strings.Repeat("1e20,", 200_000) + "1]", "over the limit"},
		{"a leading zero", `01`, "must not begin with 0"},
		{"a plus sign", `+1`, "no JSON value begins"},
		{"a bare point", `.5`, "no JSON value begins"},
		{"no digit after the point", `1.`, "a digit should follow the point"},
		{"no exponent", `1e`, "a digit should follow the exponent"},
		{"NaN", `NaN`, "no JSON value begins"},
		{"a trailing comma", `[1,]`, "no JSON value begins"},
		{"a trailing comma in an object", `{"a":1,}`, "a property name"},
		{"single quotes", `{'a':1}`, "a property name"},
		{"a raw newline in a string", "\"a\nb\"", "must be escaped"},
		{"an unknown escape", `"\x41"`, "a backslash must not stand before 'x'"},
		{"an open string", `"abc`, "not closed"},
		{"an open object", `{"a":1`, "a comma or }"},
		{"more after the end", `{} {}`, "text goes on"},
		{"half a word", `tru`, "no JSON value begins"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Canonical([]byte(c.in))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, %v; want an error with %q", got, err, c.want)
			}
		})
	}
}

func TestTheDeepestNestingIsTaken(t *testing.T) {
	in := strings.Repeat("[", MaxArgumentDepth) + strings.Repeat("]", MaxArgumentDepth)
	if got, err := Canonical([]byte(in)); err != nil || string(got) != in {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestHashIsOfTheCanonicalText(t *testing.T) {
	const want = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a" // sha256 of {}
	if got := Hash([]byte("{}")); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"b":[1,2.50,-0,1e21],"a":"\u00e9\ud83d\ude00"}`, `9007199254740993`, `{"a":1,"a":2}`, "\"\xff\"", `"\ud800"`, `[[[]]]`, `1e400`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		once, err := Canonical(in)
		if err != nil {
			return
		}
		twice, err := Canonical(once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("not idempotent: %s, then %s, %v", once, twice, err)
		}
		if !json.Valid(in) || !json.Valid(once) {
			t.Fatalf("took %q, which encoding/json does not", in)
		}
		var a, b any
		if json.Unmarshal(in, &a) != nil || json.Unmarshal(once, &b) != nil {
			t.Fatal("does not unmarshal")
		}
		if !sameJSON(a, b) {
			t.Fatalf("%s means something else than %s", once, in)
		}
	})
}

// sameJSON compares as encoding/json reads it, where 0 and -0 are one number.
func sameJSON(a, b any) bool {
	switch a := a.(type) {
	case float64:
		n, ok := b.(float64)
		return ok && (a == n || math.IsNaN(a) && math.IsNaN(n))
	case []any:
		l, ok := b.([]any)
		if !ok || len(a) != len(l) {
			return false
		}
		for i := range a {
			if !sameJSON(a[i], l[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		m, ok := b.(map[string]any)
		if !ok || len(a) != len(m) {
			return false
		}
		for k := range a {
			if !sameJSON(a[k], m[k]) {
				return false
			}
		}
		return true
	}
	return a == b
}
