package provider

import (
	"encoding/json"
	"html"
	"iter"
	"regexp"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider/arguments"
)

// textCall is one call that was written into a text.
type textCall struct{ name, arguments string }

// grammar is how calls are written into a text: a block between two marks.
type grammar struct {
	marks []mark
	// ends is what a block ends with that lost its closing mark.
	ends string
	// parse reads what stands between the marks; none where it is no call.
	parse func(block string) []textCall
}

// mark is what stands before and after a block. begins is what the block begins
// with, after white space: a mark before anything else is text.
type mark struct{ open, close, begins string }

// grammars are those that can be read.
var grammars = map[Grammar]grammar{
	Hermes: {[]mark{{"<tool_call>", "</tool_call>", "{"}}, "}", hermesCalls},
	QwenCoder: {[]mark{
		{"<tool_call>", "</tool_call>", "<function="},
		{"<function=", "</function>", ""}, // the outer mark is often forgotten
	}, "</function>", qwenCalls},
	GLM: {[]mark{{"<tool_call>", "</tool_call>", ""}}, "</arg_value>", glmCalls},
	DSML: {[]mark{
		{"<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>", "<"},
		{"<|DSML|tool_calls>", "</|DSML|tool_calls>", "<"},
		{"<｜DSML｜function_calls>", "</｜DSML｜function_calls>", "<"},
		{"<|DSML|function_calls>", "</|DSML|function_calls>", "<"},
	}, "invoke>", dsmlCalls},
}

func grammarNames() iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := range grammars {
			if !yield(string(name)) {
				return
			}
		}
	}
}

// hermesCalls reads {"name":...,"arguments":{...}}. The arguments may be a string
// with the object in it, and "parameters" is another name for them. Slips that
// leave nothing to guess are mended.
func hermesCalls(block string) []textCall {
	var c struct {
		Name       text            `json:"name"`
		Arguments  json.RawMessage `json:"arguments"`
		Parameters json.RawMessage `json:"parameters"`
	}
	o, err := arguments.Read(block)
	if err != nil || !o.Light() || json.Unmarshal([]byte(o.JSON), &c) != nil || c.Name == "" {
		return nil
	}
	if c.Arguments == nil {
		c.Arguments = c.Parameters
	}
	return []textCall{{string(c.Name), asArguments(c.Arguments)}}
}

var (
	qwenFunction  = regexp.MustCompile(`(?s)<function=([^>\s]+)>(.*?)(?:</function>|$)`)
	qwenParameter = regexp.MustCompile(`(?s)<parameter=([^>\s]+)>(.*?)(?:</parameter>|$)`)

	glmName = regexp.MustCompile(`^\s*([^\s<{]+)\s*(?:<arg_key>|$)`)
	glmPair = regexp.MustCompile(`(?s)<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>`)

	dsmlInvoke    = regexp.MustCompile(`(?s)<｜DSML｜invoke name="([^"]+)">(.*?)</｜DSML｜invoke>`)
	dsmlParameter = regexp.MustCompile(`(?s)<｜DSML｜parameter name="([^"]+)"(?: string="(true|false)")?>(.*?)</｜DSML｜parameter>`)
)

// qwenCalls reads <function=f><parameter=p>value</parameter></function>.
func qwenCalls(block string) (calls []textCall) {
	if !strings.HasPrefix(strings.TrimSpace(block), "<function=") {
		block = "<function=" + block // it was the mark
	}
	for _, f := range qwenFunction.FindAllStringSubmatch(block, -1) {
		var args members
		for _, p := range qwenParameter.FindAllStringSubmatch(f[2], -1) {
			// One line end belongs to each mark, the others to the value.
			args.add(p[1], strings.TrimSuffix(strings.TrimPrefix(p[2], "\n"), "\n"), false)
		}
		calls = append(calls, textCall{f[1], args.object()})
	}
	return calls
}

// glmCalls reads f<arg_key>p</arg_key><arg_value>value</arg_value>.
func glmCalls(block string) []textCall {
	name := glmName.FindStringSubmatch(block)
	if name == nil {
		return nil
	}
	var args members
	for _, p := range glmPair.FindAllStringSubmatch(block, -1) {
		args.add(strings.TrimSpace(p[1]), strings.TrimSpace(p[2]), false)
	}
	return []textCall{{name[1], args.object()}}
}

// dsmlCalls reads the invoke elements of a block. string="true" says that the
// value is a text, whatever it looks like.
func dsmlCalls(block string) (calls []textCall) {
	block = strings.ReplaceAll(block, "|DSML|", "｜DSML｜") // the bar comes in two widths
	for _, f := range dsmlInvoke.FindAllStringSubmatch(block, -1) {
		var args members
		for _, p := range dsmlParameter.FindAllStringSubmatch(f[2], -1) {
			args.add(html.UnescapeString(p[1]), p[3], p[2] == "true")
		}
		calls = append(calls, textCall{f[1], args.object()})
	}
	return calls
}

// members are the arguments of a call in their order.
type members struct {
	out   []byte
	names map[string]bool
}

// add takes one argument. A value that is JSON other than a string is taken as
// that, for the schema of the tool to judge; everything else is a text.
func (m *members) add(name, value string, isText bool) {
	if m.names[name] {
		return
	}
	if m.names == nil {
		m.names = make(map[string]bool)
	}
	m.names[name] = true
	if len(m.out) > 0 {
		m.out = append(m.out, ',')
	}
	m.out = append(append(m.out, quote(name)...), ':')
	bare := strings.TrimSpace(value)
	if !isText && bare != "" && bare[0] != '"' && json.Valid([]byte(bare)) {
		m.out = append(m.out, bare...)
		return
	}
	m.out = append(m.out, quote(value)...)
}

func (m *members) object() string { return "{" + string(m.out) + "}" }
