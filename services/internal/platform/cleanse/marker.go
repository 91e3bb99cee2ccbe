package cleanse

import (
	"strings"
	"unicode/utf8"
)

// dot is put into an imitation, behind its first sign.
const dot = "·"

// unmarked makes imitations of chat markup harmless.
func unmarked(s string) (string, int) {
	var b *strings.Builder
	kept, found := 0, 0
	insert := func(at int) {
		if b == nil {
			b = new(strings.Builder)
			b.Grow(len(s) + len(s)/8 + 16)
		}
		b.WriteString(s[kept:at])
		b.WriteString(dot)
		kept = at
		found++
	}
	t := chat{s: s}
	if at := t.colon(lineText(s, 0)); at > 0 {
		insert(at)
	}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\n':
			if at := t.colon(lineText(s, i+1)); at > 0 {
				insert(at)
			}
		case '<', '[':
			if imitates(s[i:]) {
				insert(i + 1)
			}
		}
	}
	if b == nil {
		return s, 0
	}
	b.WriteString(s[kept:])
	return b.String(), found
}

// imitates says whether s begins with a mark of one of the formats in which
// models read chats and write calls.
func imitates(s string) bool {
	if s[0] == '[' {
		name, ok := bracketed(s[1:])
		return ok && bracketMarks[name]
	}
	rest := strings.TrimPrefix(s[1:], "/")
	switch {
	case strings.HasPrefix(rest, "｜"): // U+FF5C, in the formats of DeepSeek
		return true
	case strings.HasPrefix(rest, "|"):
		return isBarred(rest[1:])
	case strings.HasPrefix(rest, `\|`): // in a cell of a Markdown table
		return isBarred(rest[2:])
	case strings.HasPrefix(rest, "<"), strings.HasPrefix(rest, `\<`):
		return isSys(rest)
	}
	return isTag(rest)
}

// isSys says whether s goes on as <<SYS>> and <</SYS>> do, also as Markdown may
// write them.
func isSys(s string) bool {
	s = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(s, `\`), "<"), "/")
	const rest = "SYS>>"
	return len(s) >= len(rest) && strings.EqualFold(s[:len(rest)], rest)
}

// maxName is the longest name in a mark, in bytes.
const maxName = 64

// isBarred says whether s goes on as <|name|> or <|name> does.
func isBarred(s string) bool {
	for i := range min(len(s), maxName) {
		switch c := s[i]; {
		case c == '|' || c == '>':
			return i > 0
		case isWordByte(c) || c == '-' || c == '.' || c == '/' || c >= utf8.RuneSelf || c == '\\':
		default:
			return false
		}
	}
	return false
}

// bracketed reads the name of [NAME] or [/NAME].
func bracketed(s string) (name string, ok bool) {
	s = strings.TrimPrefix(s, "/")
	end := strings.IndexByte(s[:min(len(s), maxName)], ']')
	if end <= 0 {
		return "", false
	}
	return s[:end], true
}

// bracketMarks are those of Mistral and Llama 2. Only capitals count.
var bracketMarks = map[string]bool{
	"INST": true, "SYSTEM_PROMPT": true, "AVAILABLE_TOOLS": true, "TOOL_CALLS": true, "TOOL_RESULTS": true,
	"TOOL_CONTENT": true, "ARGS": true, "CALL_ID": true, "THINK": true, "SYS": true,
}

// tags are the names of elements in which models write calls and thoughts, and
// in which they are given results and roles.
var tags = map[string]bool{
	"tool_call": true, "tool_calls": true, "tool_response": true, "tool_responses": true, "tool_result": true, "tool_results": true,
	"tool_output": true, "tool_outputs": true, "tool_use": true, "tool_code": true, "toolcall": true,
	"function_call": true, "function_calls": true, "function_result": true, "function_results": true, "function_response": true,
	"functioncall": true, "arg_key": true, "arg_value": true, "think": true, "thinking": true, "antthinking": true,
	"start_of_turn": true, "end_of_turn": true, "start_function_call": true, "end_function_call": true,
	"system-reminder": true, "system_reminder": true, "system_prompt": true, "system-prompt": true, "system_message": true,
	"assistant": true, "human": true, "user_query": true,
}

// isTag says whether s goes on as one of the tags does, or as a call of a
// function: <function=name>, <parameter=name>, <invoke name=...>.
func isTag(s string) bool {
	var name [32]byte
	n := 0
	i := 0
	for i < len(s) && n < len(name) {
		c := s[i]
		if !isWordByte(c) && c != '-' && c != ':' {
			break
		}
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		name[n] = c
		n++
		i++
	}
	if n == 0 || i == len(s) {
		return false
	}
	word, after := name[:n], s[i]
	if prefix, local, ok := strings.Cut(string(word), ":"); ok {
		return prefix == "antml" && local != ""
	}
	switch string(word) {
	case "function", "parameter":
		return after == '='
	case "invoke":
		return (after == ' ' || after == '\n' || after == '\t') && strings.HasPrefix(strings.TrimLeft(s[i:], " \n\t"), "name=")
	}
	switch after {
	case '>', ' ', '/', '\n', '\t':
		return tags[string(word)]
	}
	return false
}

func isWordByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_'
}
