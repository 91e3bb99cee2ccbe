package toolkit

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Canonical gives the one form that equal arguments share: RFC 8785 (JSON
// Canonicalization Scheme) with one exception: an integer beyond 2^53 keeps its
// digits, because a 64-bit id that was rounded to a double is another id.
//
// It refuses what has no single meaning: a property that is there twice, invalid
// UTF-8, half of a surrogate pair, a number no double can hold, nesting deeper
// than [MaxArgumentDepth], a text that is or becomes longer than
// [MaxArgumentBytes]. Canonical is idempotent.
func Canonical(argsJSON []byte) ([]byte, error) {
	v, err := parseJSON(argsJSON)
	if err != nil {
		return nil, err
	}
	out := appendCanonical(make([]byte, 0, len(argsJSON)), v)
	if len(out) > MaxArgumentBytes { // 1e20 grows to 21 digits
		return nil, fmt.Errorf("canonical JSON text of %d bytes is over the limit of %d", len(out), MaxArgumentBytes)
	}
	return out, nil
}

// Hash is the hash of canonical arguments, as 64 lower-case hexadecimal digits
// of SHA-256. Approvals, equal-call rules and key stores all compare this one.
func Hash(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

func appendCanonical(out []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(out, "null"...)
	case bool:
		return strconv.AppendBool(out, v)
	case json.Number:
		return append(out, canonicalNumber(string(v))...)
	case string:
		return appendString(out, v)
	case []any:
		out = append(out, '[')
		for i, item := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendCanonical(out, item)
		}
		return append(out, ']')
	case map[string]any:
		out = append(out, '{')
		for i, name := range slices.SortedFunc(maps.Keys(v), compareUTF16) {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(appendString(out, name), ':')
			out = appendCanonical(out, v[name])
		}
		return append(out, '}')
	}
	panic("toolkit: not a parsed JSON value") // parseJSON makes no other type
}

// isInteger reports whether the literal has neither point nor exponent.
func isInteger(literal string) bool { return !strings.ContainsAny(literal, ".eE") }

// maxExactDigits: every integer of 15 digits or fewer is below 2^53.
const maxExactDigits = 15

var maxExactInteger = big.NewInt(1 << 53)

// canonicalNumber formats like ECMAScript's Number::toString (RFC 8785 section
// 3.2.2.3), but keeps integers beyond 2^53 as they are written.
func canonicalNumber(literal string) string {
	if isInteger(literal) && len(literal) > maxExactDigits {
		if n, ok := new(big.Int).SetString(literal, 10); ok && n.CmpAbs(maxExactInteger) > 0 {
			return literal
		}
	}
	f, _ := strconv.ParseFloat(literal, 64) // parseJSON has checked the range
	return formatDouble(f)
}

func formatDouble(f float64) string {
	if f == 0 {
		return "0" // also for -0
	}
	abs := max(f, -f)
	if abs >= 1e-6 && abs < 1e21 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	// Go writes 1e-07 where ECMAScript writes 1e-7.
	mantissa, exponent, _ := strings.Cut(s, "e")
	return mantissa + "e" + exponent[:1] + strings.TrimLeft(exponent[1:], "0")
}

// appendString escapes only what RFC 8785 section 3.2.2.2 says.
func appendString(out []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	out = append(out, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c >= 0x20:
			out = append(out, c)
		case c == '\b':
			out = append(out, `\b`...)
		case c == '\t':
			out = append(out, `\t`...)
		case c == '\n':
			out = append(out, `\n`...)
		case c == '\f':
			out = append(out, `\f`...)
		case c == '\r':
			out = append(out, `\r`...)
		default:
			out = append(out, `\u00`...)
			out = append(out, hexDigits[c>>4], hexDigits[c&0xf])
		}
	}
	return append(out, '"')
}

// compareUTF16 orders names by their UTF-16 code units (RFC 8785 section
// 3.2.3). That differs from the order of code points only where one character
// is outside the BMP: its first unit is a surrogate, D800 to DBFF, and so stands
// before U+E000 to U+FFFF.
func compareUTF16(a, b string) int {
	for a != "" && b != "" {
		ra, na := utf8.DecodeRuneInString(a)
		rb, nb := utf8.DecodeRuneInString(b)
		if ra != rb {
			return cmp.Compare(firstUnitOrder(ra), firstUnitOrder(rb))
		}
		a, b = a[na:], b[nb:]
	}
	return cmp.Compare(len(a), len(b))
}

// firstUnitOrder maps a character to a number that sorts like its UTF-16 form.
func firstUnitOrder(r rune) int64 {
	if r >= 0x10000 {
		return 0xD800<<21 | int64(r)
	}
	return int64(r) << 21
}
