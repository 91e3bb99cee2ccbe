package config

import (
	"fmt"
	"regexp"
	"strings"
)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expand replaces ${NAME} and ${NAME:-default}; the default also stands in for
// an empty variable. "$${" gives a plain "${", and a "$" before anything else
// is a "$". What a variable holds is not expanded again.
func expand(text string, lookup func(name string) (string, bool)) (string, error) {
	var out strings.Builder
	for {
		start := strings.Index(text, "${")
		if start < 0 {
			out.WriteString(text)
			return out.String(), nil
		}
		if start > 0 && text[start-1] == '$' {
			out.WriteString(text[:start-1] + "${")
			text = text[start+len("${"):]
			continue
		}
		out.WriteString(text[:start])
		inside, rest, closed := strings.Cut(text[start+len("${"):], "}")
		if !closed {
			return "", fmt.Errorf(`"${" without "}"; write "$${" for a plain "${"`)
		}
		name, fallback, hasFallback := strings.Cut(inside, ":-")
		if !variableName.MatchString(name) {
			return "", fmt.Errorf("${%s} is no variable name; write \"$${\" for a plain \"${\"", clip(name))
		}
		value, set := lookup(name)
		switch {
		case hasFallback && value == "":
			value = fallback
		case !set:
			return "", fmt.Errorf("environment variable %s is not set; set it, or give a default: ${%s:-...}", name, name)
		}
		out.WriteString(value)
		text = rest
	}
}
