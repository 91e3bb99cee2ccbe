package rpc

import "buf.build/go/protovalidate"

// patternRule is the id of the rule that a text must match a pattern.
const patternRule = "string.pattern"

// patternWords say in words what each pattern of the contracts asks for: an
// expression helps nobody who is told of it.
var patternWords = map[string]string{
	`^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$`: "must be 1 to 64 letters, digits, - and _, and begin with a letter or digit",
	`^[a-zA-Z0-9_-]{1,64}$`:            "must be 1 to 64 letters, digits, - and _",
	`^([0-9a-f]{64})?$`:                "must be a SHA-256 as 64 hexadecimal digits in lower case",
	`^([A-Za-z]{2})?$`:                 "must be a country in two letters (ISO 3166-1), such as GB",
	`^([0-9]{4}-[0-9]{2}-[0-9]{2})?$`:  "must be a day as 2006-01-02",
}

// patternDescription is what a text is told that does not match; empty when the
// violation is of another rule.
func patternDescription(v *protovalidate.Violation) string {
	if v.Proto.GetRuleId() != patternRule || !v.RuleValue.IsValid() {
		return ""
	}
	return patternWords[v.RuleValue.String()]
}
