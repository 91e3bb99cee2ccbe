package provider

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// keyLike finds what looks like a credential in a provider's own words.
var keyLike = regexp.MustCompile(`(?i)\b(sk|pk|rk|gsk|xai|key)-[a-z0-9_*-]{6,}|\bbearer\s+[^\s"']{6,}|\bAIza[a-z0-9_-]{20,}`)

const redacted = "[redacted]"

// redactor removes secrets from texts that are shown.
type redactor struct{ replacer *strings.Replacer }

// newRedactor knows the secrets to remove; those too short to be one are left.
func newRedactor(secrets ...string) redactor {
	var pairs []string
	for _, s := range secrets {
		if len(s) >= 6 {
			pairs = append(pairs, s, redacted)
		}
	}
	return redactor{strings.NewReplacer(pairs...)}
}

// clean returns text on one line, without secrets and control characters, cut
// to limit characters.
func (r redactor) clean(text string, limit int) string {
	text = keyLike.ReplaceAllString(r.replacer.Replace(strings.ToValidUTF8(text, "\uFFFD")), redacted)
	text = strings.Join(strings.FieldsFunc(text, func(c rune) bool {
		return unicode.IsSpace(c) || unicode.IsControl(c)
	}), " ")
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	runes := []rune(text)
	return string(runes[:limit-1]) + "…"
}
