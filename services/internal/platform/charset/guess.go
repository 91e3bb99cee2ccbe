package charset

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/saintfish/chardet"
	"golang.org/x/text/transform"
)

const (
	// sampleSize is how much of a page is looked at to judge it, in bytes.
	sampleSize = 256 << 10
	// manyMultibyte is how many multi-byte characters make valid UTF-8 more
	// likely than any other encoding. Fewer happen by accident: the two
	// characters of a well-known Chinese company name in GBK are valid UTF-8.
	manyMultibyte = 4
	// detectable is how many bytes outside ASCII the statistics need to be
	// better than the default.
	detectable = 4
	// badShare is the share of bad characters over the bytes outside ASCII
	// from which a declaration is wrong: 1 in 20.
	badShare = 20
)

// plausible says whether body can be text in the named encoding.
func plausible(body []byte, name string) bool {
	sample := body[:min(len(body), sampleSize)]
	if name == nameUTF8 && utf8.Valid(sample) {
		return true // nearly every page, and eight bytes at a time
	}
	high := countHigh(sample)
	switch name {
	case nameUTF8:
		_, bad := utf8Shape(sample)
		return bad <= 1 || bad*badShare < high
	case nameUTF16LE, nameUTF16BE:
		return bytes.IndexByte(sample, 0) >= 0 || !utf8.Valid(sample)
	case "iso-2022-jp":
		return high == 0 || high*badShare < len(sample)
	}
	if multi, bad := utf8Shape(sample); multi >= manyMultibyte && bad <= 1 {
		return false
	}
	bad := badCharacters(sample, name)
	return bad <= 1 || bad*badShare < high
}

// guess names the encoding of a page that does not say, or says wrong.
func guess(body []byte) Result {
	sample := body[:min(len(body), sampleSize)]
	if name := utf16Shape(sample); name != "" {
		return Result{Name: name, Source: SourceBytes}
	}
	high := countHigh(sample)
	if high == 0 {
		if name := escapes(sample); name != "" {
			return Result{Name: name, Source: SourceBytes}
		}
		return Result{Name: nameUTF8, Source: SourceBytes}
	}
	multi, bad := utf8Shape(sample)
	if multi > 0 && (bad == 0 || (multi >= manyMultibyte && bad*badShare < high)) {
		return Result{Name: nameUTF8, Source: SourceBytes}
	}
	if high >= detectable {
		if name := statistics(sample); name != "" {
			return Result{Name: name, Source: SourceDetected}
		}
	}
	return Result{Name: name1252, Source: SourceDefault}
}

// statistics asks the detector, and believes the first answer that decodes.
func statistics(sample []byte) string {
	if looksThai(sample) {
		return "windows-874"
	}
	results, err := chardet.NewTextDetector().DetectAll(foldMarkup(sample))
	if err != nil {
		return ""
	}
	// The detector asks its parts at the same time; those that are equally sure
	// come in any order.
	slices.SortFunc(results, func(a, b chardet.Result) int {
		return cmp.Or(b.Confidence-a.Confidence, strings.Compare(a.Charset, b.Charset), strings.Compare(a.Language, b.Language))
	})
	for _, r := range results {
		name := lookup(detectorLabel(r.Charset))
		if name == "" || name == nameUTF8 || name == nameUTF16LE || name == nameUTF16BE {
			continue
		}
		if plausible(sample, name) {
			return refine(name, sample)
		}
	}
	return ""
}

// detectorLabel turns the detector's names into labels of the standard.
func detectorLabel(s string) string {
	switch s {
	case "GB-18030":
		return "gb18030"
	case "ISO-8859-8-I":
		return "windows-1255"
	}
	return s
}

// foldMarkup drops tags and shortens ASCII between characters outside it, so
// that markup and scripts do not drown the statistics.
func foldMarkup(b []byte) []byte {
	const keep = 16
	out := make([]byte, 0, len(b)/2)
	ascii := 0
	inTag := false
	for _, c := range b {
		switch {
		case c == '<':
			inTag = true
		case c == '>' && inTag:
			inTag = false
			out = append(out, ' ')
		case inTag:
		case c >= 0x80:
			ascii = 0
			out = append(out, c)
		case ascii < keep:
			ascii++
			out = append(out, c)
		}
	}
	return out
}

func countHigh(b []byte) int {
	n := 0
	for _, c := range b {
		if c >= 0x80 {
			n++
		}
	}
	return n
}

// utf8Shape counts the multi-byte characters and the bad bytes of b read as
// UTF-8. A character cut off at the end is not counted.
func utf8Shape(b []byte) (multi, bad int) {
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			if len(b)-i < utf8.UTFMax && !utf8.FullRune(b[i:]) {
				return multi, bad
			}
			bad++
		} else {
			multi++
		}
		i += n
	}
	return multi, bad
}

// badCharacters counts what the encoding cannot read, a cut at the end not
// counted. Controls from 0x80 to 0x9f count too: no text holds them.
func badCharacters(sample []byte, name string) int {
	out, _, err := transform.Bytes(codec(name).NewDecoder(), sample)
	if err != nil {
		return len(sample)
	}
	bad := 0
	for i, r := range string(out) {
		if r == utf8.RuneError || (r >= 0x80 && r < 0xa0) {
			if len(out)-i > utf8.UTFMax {
				bad++
			}
		}
	}
	return bad
}

// utf16Shape tells UTF-16 without a mark by where its zero bytes stand.
func utf16Shape(b []byte) string {
	b = b[:min(len(b), 4096)]
	if len(b) < 8 {
		return ""
	}
	var even, odd int
	for i, c := range b {
		if c != 0 {
			continue
		}
		if i%2 == 0 {
			even++
		} else {
			odd++
		}
	}
	// Markup is ASCII: half of it is zero bytes, all on one side.
	switch few := len(b) / 40; {
	case odd > 4*few && even <= few:
		return nameUTF16LE
	case even > 4*few && odd <= few:
		return nameUTF16BE
	}
	return ""
}

// escapes tells the encodings that are ASCII with escape sequences.
func escapes(b []byte) string {
	for _, seq := range []string{"\x1b$B", "\x1b$@", "\x1b(J", "\x1b(I"} {
		if bytes.Contains(b, []byte(seq)) {
			return "iso-2022-jp"
		}
	}
	return ""
}
