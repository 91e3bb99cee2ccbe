package arguments

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

func TestTextsAreRepairedWhereOnlyOneReadingIsLeft(t *testing.T) {
	tests := []struct {
		name, in, want string
		repairs        []Repair
	}{
		{"nothing", "", `{}`, nil},
		{"null", " null ", `{}`, nil},
		{"an object", ` {"q":"x"} `, `{"q":"x"}`, nil},
		{"numbers as they were written", `{"n":1.0,"m":12345678901234567890}`, `{"n":1.0,"m":12345678901234567890}`, nil},
		{"a comma before the end", `{"q":"x",}`, `{"q":"x"}`, []Repair{TrailingComma}},
		{"a comma that a cut left", `{"q":"x",`, `{"q":"x"}`, []Repair{TrailingComma, MissingEnd}},
		{"single quotation marks", `{'q':'x'}`, `{"q":"x"}`, []Repair{Quotes}},
		{"an apostrophe inside single quotation marks", `{'q':'it's here'}`, `{"q":"it's here"}`, []Repair{Quotes, InnerQuotes}},
		{"quotation marks inside single ones", `{'q':'say "hi"'}`, `{"q":"say \"hi\""}`, []Repair{Quotes}},
		{"backticks", "{`q`:`x`}", `{"q":"x"}`, []Repair{Quotes}},
		{"three quotation marks", `{"code":"""print("a")
print("b")"""}`, `{"code":"print(\"a\")\nprint(\"b\")"}`, []Repair{Quotes, RawControl}},
		{"single marks of typography", `{‘q’:‘x’}`, `{"q":"x"}`, []Repair{Quotes}},
		{"a fence without a language", "```\n{\"q\":\"x\"}\n```", `{"q":"x"}`, []Repair{CodeFence}},
		{"a fence after prose", "Sure!\n```json\n{\"q\":\"x\"}\n```\nDone.", `{"q":"x"}`, []Repair{CodeFence, Surroundings}},
		{"a fence that is not closed", "```json\n{\"q\":\"x\"}", `{"q":"x"}`, []Repair{CodeFence}},
		{"prose before", `Here it is: {"q":"x"}`, `{"q":"x"}`, []Repair{Surroundings}},
		{"braces in the prose before", `Use {it} so: {"q":"x"}`, `{"q":"x"}`, []Repair{Surroundings}},
		{"encoded twice, the inner text broken", `"{\"q\":\"x\",}"`, `{"q":"x"}`, []Repair{DoubleEncoding, TrailingComma}},
		{"encoded three times", `"\"{\\\"q\\\":\\\"x\\\"}\""`, `{"q":"x"}`, []Repair{DoubleEncoding}},
		{"encoded, the marks around it lost", `{\"q\":\"x\"}`, `{"q":"x"}`, []Repair{DoubleEncoding}},
		{"HTML entities", `{&quot;q&quot;:&quot;x&quot;}`, `{"q":"x"}`, []Repair{Entities}},
		{"a byte order mark", "\uFEFF{\"q\":\"x\"}", `{"q":"x"}`, []Repair{WhiteSpace}},
		{"a tabulator in a string", "{\"q\":\"a\tb\"}", `{"q":"a\tb"}`, []Repair{RawControl}},
		{"bytes that are no character", "{\"q\":\"a\xffb\"}", `{"q":"a` + "\uFFFD" + `b"}`, []Repair{BrokenCharacter}},
		{"a path of Windows", `{"p":"C:\Windows\system"}`, `{"p":"C:\\Windows\\system"}`, []Repair{UnknownEscape}},
		{"an escaped apostrophe", `{"q":"it\'s"}`, `{"q":"it's"}`, []Repair{UnknownEscape}},
		{"an address without quotation marks", `{url: https://a.example/b?c=d#e, n: 1}`, `{"url":"https://a.example/b?c=d#e","n":1}`, []Repair{UnquotedName, UnquotedText}},
		{"the first quotation mark of names lost", `{q":"x","a":1, n" : 5}`, `{"q":"x","a":1,"n":5}`, []Repair{UnquotedName}},
		{"words without quotation marks", `{"q": hello big world}`, `{"q":"hello big world"}`, []Repair{UnquotedText}},
		{"a date without quotation marks", `{"d": 2024-01-31}`, `{"d":"2024-01-31"}`, []Repair{UnquotedText}},
		{"a comment with #", "{\"q\":\"x\" # c\n}", `{"q":"x"}`, []Repair{Comment}},
		{"an address is no comment", `{"u":["http://a.example",]}`, `{"u":["http://a.example"]}`, []Repair{TrailingComma}},
		{"a missing comma in an array", `{"u":["a" "b"]}`, `{"u":["a","b"]}`, []Repair{MissingComma}},
		{"a missing comma between lines", "{\"q\":\"x\"\n\"n\":1}", `{"q":"x","n":1}`, []Repair{MissingComma}},
		{"a missing comma after a number", `{"n":1 "q":"x"}`, `{"n":1,"q":"x"}`, []Repair{MissingComma}},
		{"a missing comma after an object", `{"a":{"b":1} "c":2}`, `{"a":{"b":1},"c":2}`, []Repair{MissingComma}},
		{"semicolons", `{"q":"x";"n":1}`, `{"q":"x","n":1}`, []Repair{Punctuation}},
		{"an arrow of Ruby", `{"q" => "x"}`, `{"q":"x"}`, []Repair{Punctuation}},
		{"all ends missing", `{"a":{"b":[1,2`, `{"a":{"b":[1,2]}}`, []Repair{MissingEnd}},
		{"an end too many", `{"q":"x"}}`, `{"q":"x"}`, []Repair{SurplusEnd}},
		{"a cut array", `{"u":["a","b`, `{"u":["a","b"]}`, []Repair{MissingEnd}},
		{"a point at the end of a number", `{"n":5.}`, `{"n":5}`, []Repair{ForeignNumber}},
		{"a negative point", `{"n":-.5e3}`, `{"n":-0.5e3}`, []Repair{ForeignNumber}},
		{"a comma inside inner quotation marks", `{"q":"say "hi", then go","n":1}`, `{"q":"say \"hi\", then go","n":1}`, []Repair{InnerQuotes}},
		{"quotation marks of code", `{"code":"print("a")"}`, `{"code":"print(\"a\")"}`, nil},
		{"lower and upper case", `{"a":TRUE,"b":nil,"c":Null}`, `{"a":true,"b":null,"c":null}`, []Repair{ForeignLiteral}},
		{"a surrogate pair in single quotation marks", `{'q':'\ud83d\ude00'}`, `{"q":"😀"}`, []Repair{Quotes}},
		{"the end of a call", `({"q":"x"});`, `{"q":"x"}`, []Repair{Surroundings}},
		{"the same object three times", `{"q":"x"} {"q":"x"}` + "\n" + `{"q": "x"}`, `{"q":"x"}`, []Repair{RepeatedObject}},
		{"an ellipsis character", `{"u":["a",…]}`, `{"u":["a"]}`, []Repair{Ellipsis}},
		{"marks of CJK typography", `{「q」:「x」}`, `{"q":"x"}`, []Repair{Quotes}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Read(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if got.JSON != tt.want {
				t.Errorf("read as %s, want %s", got.JSON, tt.want)
			}
			if tt.repairs != nil && !slices.Equal(got.Repairs, tt.repairs) {
				t.Errorf("repairs %q, want %q", got.Repairs, tt.repairs)
			}
			if (len(got.Repairs) == 0) != (strings.TrimSpace(tt.in) == got.JSON || got.JSON == "{}") {
				t.Errorf("repairs %q of %s", got.Repairs, tt.in)
			}
		})
	}
}

func TestWhatCouldBeMeantInTwoWaysIsRefused(t *testing.T) {
	tests := []struct{ name, in, says string }{
		{"an array", `[{"q":"x"}]`, "an array where an object should be"},
		{"a boolean", `true`, "no object in the text"},
		{"prose", `I will search now.`, "no object in the text"},
		{"a text in a string", `"{nothing here"`, ""},
		{"not a number", `{"n":NaN}`, "could be meant in several ways"},
		{"minus infinity", `{"n":-Infinity}`, "could be meant in several ways"},
		{"an octal number", `{"n":0755}`, "could be meant in several ways"},
		{"a number with underscores", `{"n":1_000}`, "could be meant in several ways"},
		{"a name twice", `{"q":"a","q":"a"}`, "there twice"},
		{"a name twice, once in other marks", `{"q":"a",'q':"b"}`, "there twice"},
		{"two objects", `{"q":"x"},{"q":"y"}`, "two different objects"},
		{"two objects on lines", "{\"q\":\"x\"}\n{\"n\":1}", "two different objects"},
		{"a name without a value", `{"q":}`, "has no value"},
		{"a cut before a value", `{"q":"x","n":`, "ends where a value should be"},
		{"a cut in a literal", `{"q":tr`, "ends in a value"},
		{"a cut in an escape", `{"q":"a\`, "ends in an escape"},
		{"a comment that is not closed", `{"q":1 /* x`, "not closed"},
		{"65 levels", strings.Repeat(`{"a":`, 65) + `1,` + strings.Repeat(`}`, 65), "nested deeper than 64"},
		{"a string that swallows the end", `{"q":"x, }`, "where it should end cannot be told"},
		{"a number no double can hold", `{n:1e999}`, "too large"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Read(tt.in)
			if err == nil {
				t.Fatalf("read as %s (%q)", got.JSON, got.Repairs)
			}
			if !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestOnlyRepairsThatGuessNothingAreLight(t *testing.T) {
	for in, want := range map[string]bool{
		`{"q":"x"}`:                    true,
		"```json\n{\"q\":\"x\",}\n```": true,
		`"{\"q\":\"x\"}"`:              true,
		"{\"q\":\"a\nb\"}":             true,
		`{'q':'x'}`:                    false,
		`{"q":"x"`:                     false,
		`{"q":say}`:                    false,
	} {
		if got, err := Read(in); err != nil || got.Light() != want {
			t.Errorf("%s: light %v, error %v", in, got.Light(), err)
		}
	}
}

func TestLargeAndHostileTextsAreReadInLinearTime(t *testing.T) {
	const n = 200_000
	for name, in := range map[string]string{
		"quotation marks":      `{"q":"` + strings.Repeat(`" `, n) + `"}`,
		"commas":               `{"q":"` + strings.Repeat(`",`, n) + `"}`,
		"names":                `{"q":"` + strings.Repeat(`","`, n) + `"}`,
		"braces":               strings.Repeat("{", n),
		"braces in prose":      strings.Repeat("{} x ", n),
		"backslashes":          `{"q":"` + strings.Repeat(`\`, n),
		"triple marks":         `{"q":` + strings.Repeat(`'''`, n),
		"unquoted":             `{` + strings.Repeat(`a:b,`, n),
		"comments":             `{` + strings.Repeat("/**/", n) + `}`,
		"plus":                 `{"q":` + strings.Repeat(`"a"+`, n) + `"b"}`,
		"unclosed comments":    `{` + strings.Repeat("/*", n),
		"over the size":        `{'q':'` + strings.Repeat("x", toolkit.MaxArgumentBytes) + `'}`,
		"objects":              strings.Repeat(`{"a":1}`, n),
		"openings in strings":  `{"q":["` + strings.Repeat(`["`, n),
		"fences":               strings.Repeat("```", n) + `{"q":1}`,
		"nothing but blanks":   strings.Repeat("\u00A0", n),
		"marks of Gemma":       `{q:` + strings.Repeat(`<|"|>`, n),
		"names cut everywhere": `{"q":"x` + strings.Repeat(`", "y `, n),
	} {
		got, err := Read(in) // a quadratic reader would run into the time limit of the test
		if err == nil && !json.Valid([]byte(got.JSON)) {
			t.Errorf("%s: not JSON", name)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, b := range corpus(f) {
		f.Add(b.Input)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := Read(in)
		if err != nil {
			return
		}
		again, err := Exact(got.JSON)
		if err != nil || again.JSON != got.JSON {
			t.Fatalf("%q was read as %q, which is not exact: %v", in, got.JSON, err)
		}
		if exact, err := Exact(in); err == nil && (exact.JSON != got.JSON || len(got.Repairs) > 0) {
			t.Fatalf("%q is exact but was read as %q, %q", in, got.JSON, got.Repairs)
		} else if err != nil && len(got.Repairs) == 0 && !json.Valid([]byte(strings.TrimSpace(in))) {
			t.Fatalf("%q was read as %q without a repair", in, got.JSON)
		}
	})
}
