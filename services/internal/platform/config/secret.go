package config

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Secret is a key, token or password. It prints, logs and marshals as a mask;
// only Reveal gives the text. Keep it in exported fields: fmt cannot mask the
// unexported fields of somebody else's struct.
type Secret string

// Reveal gives the secret itself, for the one place that sends it.
func (s Secret) Reveal() string { return string(s) }

const (
	mask = "…"
	// A secret shorter than this many bytes shows nothing of itself.
	minShownBytes = 16
	shownHead     = 3
	shownTail     = 2
)

// String gives "sk-…9f" for a long secret, "…" for a short one, "" for none.
func (s Secret) String() string {
	switch {
	case s == "":
		return ""
	case len(s) < minShownBytes || !isASCII(string(s)):
		return mask
	}
	return string(s[:shownHead]) + mask + string(s[len(s)-shownTail:])
}

// Format masks under every verb, also under one that does not suit a string.
func (s Secret) Format(f fmt.State, verb rune) {
	if verb == 'q' || (verb == 'v' && f.Flag('#')) {
		_, _ = fmt.Fprintf(f, "%q", s.String())
		return
	}
	_, _ = io.WriteString(f, s.String())
}

// GoString masks.
func (s Secret) GoString() string { return fmt.Sprintf("%q", s.String()) }

// MarshalText masks.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON masks.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// LogValue masks.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// SecretOrigin is where a secret came from: names and places, never the text.
type SecretOrigin struct {
	// Place is what set it: a line of a file, a variable, the command line.
	Place string
	// Variables were filled into it, in their order.
	Variables []string
	// Trimmed says that white space or quotes stood around it and were removed.
	Trimmed bool
	// Empty says that nothing is in it.
	Empty bool
}

// String tells it in words: "environment variable GLM_API_KEY, named in
// config.yml:4".
func (o SecretOrigin) String() string {
	switch len(o.Variables) {
	case 0:
		return o.Place
	case 1:
		return "environment variable " + o.Variables[0] + ", named in " + o.Place
	}
	return "environment variables " + strings.Join(o.Variables, ", ") + ", named in " + o.Place
}

// cleanSecret removes what copying leaves around a secret: white space, line
// ends, quotes, byte order marks.
func cleanSecret(s string) string {
	return strings.TrimFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || strings.ContainsRune("\"'`“”‘’", r)
	})
}

func isASCII(s string) bool {
	for _, b := range []byte(s) {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
