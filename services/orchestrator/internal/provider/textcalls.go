package provider

import (
	"encoding/json"
	"errors"
	"html"
	"io"
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
	GLM:  {[]mark{{"<tool_call>", "</tool_call>", ""}}, "</arg_value>", glmCalls},
	DSML: {dsmlMarks(), "invoke>", dsmlCalls},
}

// dsmlMarks are the marks with each of the bars that models write (GenericAgent#804),
// around all calls and, where that was forgotten, around each.
func dsmlMarks() (marks []mark) {
	for _, bar := range []string{"｜", "|", "｜｜", "||", "‖"} {
		for _, around := range []string{"tool_calls", "function_calls", "tool_use"} {
			name := bar + "DSML" + bar + around + ">"
			marks = append(marks, mark{"<" + name, "</" + name, "<"})
		}
		name := bar + "DSML" + bar + "invoke"
		marks = append(marks, mark{"<" + name + ` name="`, "</" + name + ">", ""})
	}
	return marks
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

// hermesCall is a call as JSON. The arguments may be a string with the object in
// it, "parameters" is another name for them, and all may be in "function".
type hermesCall struct {
	Name       text            `json:"name"`
	Arguments  json.RawMessage `json:"arguments"`
	Parameters json.RawMessage `json:"parameters"`
	Function   *hermesCall     `json:"function"`
}

// hermesCalls reads {"name":...,"arguments":{...}}, once or several times. Slips
// that leave nothing to guess are mended where it is one.
func hermesCalls(block string) (calls []textCall) {
	list, ok := jsonValues(block)
	if !ok {
		o, err := arguments.Read(block)
		if err != nil || !o.Light() {
			return nil
		}
		list = []hermesCall{{}}
		if json.Unmarshal([]byte(o.JSON), &list[0]) != nil {
			return nil
		}
	}
	for _, c := range list {
		if c.Function != nil && c.Name == "" {
			c = *c.Function
		}
		if c.Name == "" {
			return nil
		}
		if c.Arguments == nil {
			c.Arguments = c.Parameters
		}
		calls = append(calls, textCall{string(c.Name), asArguments(c.Arguments)})
	}
	return calls
}

// jsonValues reads a block of JSON objects, one after the other.
func jsonValues(block string) (calls []hermesCall, ok bool) {
	for d := json.NewDecoder(strings.NewReader(block)); ; {
		var c hermesCall
		switch err := d.Decode(&c); {
		case errors.Is(err, io.EOF):
			return calls, true
		case err != nil:
			return nil, false
		}
		calls = append(calls, c)
	}
}

var (
	qwenFunction  = regexp.MustCompile(`(?s)<function=([^>\s]+)>(.*?)(?:</function>|$)`)
	qwenParameter = regexp.MustCompile(`(?s)<parameter=([^>\s]+)>(.*?)(?:</parameter>|$)`)

	glmName = regexp.MustCompile(`^\s*([^\s<{]+)\s*(?:<arg_key>|$)`)
	glmPair = regexp.MustCompile(`(?s)<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>`)

	dsmlInvoke    = regexp.MustCompile(`(?s)<` + dsml + `invoke name="([^"]+)">(.*?)</` + dsml + `invoke>`)
	dsmlParameter = regexp.MustCompile(`(?s)<` + dsml + `parameter name="([^"]+)"(?: string="(true|false)")?>(.*?)</` + dsml + `parameter>`)
)

// dsml is what tags begin with; the bars come in several widths and numbers.
const dsml = `[｜|‖]{1,2}DSML[｜|‖]{1,2}`

// qwenNext is what a parameter begins with.
const qwenNext = "<parameter="

// qwenCalls reads <function=f><parameter=p>value</parameter></function>.
func qwenCalls(block string) (calls []textCall) {
	if !strings.HasPrefix(strings.TrimSpace(block), "<function=") {
		block = "<function=" + block // it was the mark
	}
	for _, f := range qwenFunction.FindAllStringSubmatch(block, -1) {
		var args members
		// A value without its closing mark ends where the next parameter begins.
		for i, part := range strings.Split(f[2], "\n"+qwenNext) {
			if i > 0 {
				part = qwenNext + part
			}
			for _, p := range qwenParameter.FindAllStringSubmatch(part, -1) {
				// One line end belongs to each mark, the others to the value.
				args.add(p[1], strings.TrimSuffix(strings.TrimPrefix(p[2], "\n"), "\n"), false)
			}
		}
		calls = append(calls, textCall{f[1], args.object()})
	}
	return calls
}

// glmCalls reads f<arg_key>p</arg_key><arg_value>value</arg_value>. A block with
// more in it is no call: an argument could be lost.
func glmCalls(block string) []textCall {
	name := glmName.FindStringSubmatch(block)
	if name == nil {
		return nil
	}
	if rest := glmPair.ReplaceAllString(block, ""); strings.TrimSpace(rest) != name[1] {
		return nil
	}
	var args members
	for _, p := range glmPair.FindAllStringSubmatch(block, -1) {
		args.add(strings.TrimSpace(p[1]), strings.TrimSpace(p[2]), false)
	}
	return []textCall{{name[1], args.object()}}
}

// dsmlCalls reads the invoke elements of a block. string="true" says that the
// value is a text, whatever it looks like. A block with more in it is no call: an
// argument could be lost.
func dsmlCalls(block string) (calls []textCall) {
	if !strings.HasPrefix(strings.TrimSpace(block), "<") {
		block = "<｜DSML｜invoke name=\"" + block + "</｜DSML｜invoke>" // these were the marks
	}
	if strings.TrimSpace(dsmlInvoke.ReplaceAllString(block, "")) != "" {
		return nil
	}
	for _, f := range dsmlInvoke.FindAllStringSubmatch(block, -1) {
		if strings.TrimSpace(dsmlParameter.ReplaceAllString(f[2], "")) != "" {
			return nil
		}
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
