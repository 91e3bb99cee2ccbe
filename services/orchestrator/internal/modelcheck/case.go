package modelcheck

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// Kind is what a case is about.
type Kind string

// The kinds, in the order in which they are asked.
const (
	Flat        Kind = "flat arguments"
	Nested      Kind = "nested objects"
	Strings     Kind = "arrays"
	Objects     Kind = "arrays of objects"
	Enums       Kind = "enums"
	Limits      Kind = "integers at limits"
	Numbers     Kind = "numbers"
	Optional    Kind = "optional fields"
	Defaults    Kind = "defaulted fields"
	Quotes      Kind = "quotes"
	Lines       Kind = "line breaks"
	CJK         Kind = "CJK and emoji"
	Code        Kind = "code"
	Choice      Kind = "choice of tools"
	NoArguments Kind = "no arguments"
	Parallel    Kind = "parallel calls"
	History     Kind = "after a result"
	NoTool      Kind = "no tool needed"
)

// Case is one thing that a model is asked to do.
type Case struct {
	// Nth is its number, from 0; with the seed it says all of the case.
	Nth     int
	Kind    Kind
	Request provider.Request
	// Want are the calls that answer it, in any order; none: an answer in words.
	Want []Wanted
}

// Wanted is a call that a case asks for.
type Wanted struct {
	Tool string
	// Arguments are canonical, with the defaults of the schema filled in.
	Arguments string
}

// kinds make their cases.
var kinds = []struct {
	kind Kind
	make func(*maker)
}{
	{Flat, flat}, {Nested, nested}, {Strings, list}, {Objects, objects}, {Enums, enums}, {Limits, limits},
	{Numbers, numbers}, {Optional, optional}, {Defaults, defaulted}, {Quotes, quotes}, {Lines, lines}, {CJK, cjk},
	{Code, code}, {Choice, choice}, {NoArguments, noArguments}, {Parallel, parallel}, {History, history}, {NoTool, noTool},
}

// Kinds are all kinds, in the order in which they are asked.
func Kinds() []Kind {
	all := make([]Kind, len(kinds))
	for i, k := range kinds {
		all[i] = k.kind
	}
	return all
}

// Generate makes n cases, the kinds in turn: always the same ones for the same
// seed, and those of a small n are the first ones of a larger n. maxTokens limits
// each answer.
func Generate(seed uint64, n, maxTokens int) []Case {
	cases := make([]Case, n)
	for i := range cases {
		k := kinds[i%len(kinds)]
		m := &maker{Rand: rand.New(rand.NewPCG(seed, uint64(i)))}
		m.out = Case{Nth: i, Kind: k.kind, Request: provider.Request{MaxTokens: maxTokens, Messages: []provider.Message{{
			Role: provider.RoleSystem, Content: "Do exactly what the user asks for, with the tools where they are needed. Do not explain anything.",
		}}}}
		k.make(m)
		cases[i] = m.out
	}
	return cases
}

// maker makes one case.
type maker struct {
	*rand.Rand
	out Case
}

// say adds a message of the user.
func (m *maker) say(text string) {
	m.out.Request.Messages = append(m.out.Request.Messages, provider.Message{Role: provider.RoleUser, Content: text})
}

// offer adds a tool; properties and required are parts of its schema.
func (m *maker) offer(name, description, properties string, required ...string) {
	if required == nil {
		required = []string{}
	}
	must, err := json.Marshal(required)
	if err != nil {
		panic(err) // strings always encode
	}
	m.out.Request.Tools = append(m.out.Request.Tools, provider.ToolSpec{
		Name: name, Description: description,
		Parameters: json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":` + string(must) + `,"additionalProperties":false}`),
	})
}

// want asks for one call in words and notes it. intro stands before the values.
func (m *maker) want(intro, tool string, arguments object) {
	m.expect(tool, arguments)
	m.say(fmt.Sprintf("%s Call the tool %s once, with these arguments and no others:\n%s", intro, tool, outline(arguments)))
}

// expect notes a call that is wanted of a tool that was offered.
func (m *maker) expect(tool string, arguments object) {
	for _, spec := range m.out.Request.Tools {
		if spec.Name != tool {
			continue
		}
		v, err := toolkit.NewValidator(spec.Parameters)
		if err != nil {
			panic(fmt.Sprintf("modelcheck: schema of %s: %v", tool, err))
		}
		canonical, err := v.CheckExact(arguments.json())
		if err != nil {
			panic(fmt.Sprintf("modelcheck: arguments of %s: %v", tool, err))
		}
		m.out.Want = append(m.out.Want, Wanted{tool, string(canonical)})
		return
	}
	panic("modelcheck: tool " + tool + " is not offered")
}

// pick is one of some words.
func (m *maker) pick(words ...string) string { return words[m.IntN(len(words))] }

// some are n different ones of some words.
func (m *maker) some(n int, words ...string) []any {
	var out []any
	for _, i := range m.Perm(len(words))[:n] {
		out = append(out, words[i])
	}
	return out
}

// between is a whole number of a range, both ends in it.
func (m *maker) between(low, high int64) int64 { return low + m.Int64N(high-low+1) }
