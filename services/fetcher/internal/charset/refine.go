package charset

import (
	"unicode"

	"golang.org/x/text/encoding/charmap"
)

// The detector knows no Thai and no Ukrainian, and takes the Central European
// encodings for the Western one. What it misses is told by what the letters of
// a language cannot do.

// looksThai tells windows-874: no byte stands for nothing in it, and vowel
// signs and tone marks follow a consonant or one another. A text that is whole
// in one of the encodings of two bytes a character is no Thai: Thai words have
// odd lengths too.
func looksThai(sample []byte) bool {
	var high, marks, misplaced int
	for i, c := range sample {
		switch {
		case c < 0x80:
			continue
		case c >= 0xdb && c <= 0xde, c >= 0xfc:
			return false
		case c < 0xa0 && c != 0x80 && c != 0x85 && (c < 0x91 || c > 0x97):
			return false
		}
		high++
		if isThaiMark(c) {
			marks++
			if i == 0 || (!isThaiMark(sample[i-1]) && (sample[i-1] < 0xa1 || sample[i-1] > 0xce)) {
				misplaced++
			}
		}
	}
	const enough = 20
	if high < enough || marks*20 < high || misplaced*50 > marks {
		return false
	}
	for _, name := range []string{"euc-jp", "big5", "euc-kr"} {
		if badCharacters(sample, name) == 0 {
			return false
		}
	}
	return true
}

func isThaiMark(c byte) bool {
	return c == 0xd1 || (c >= 0xd4 && c <= 0xda) || (c >= 0xe7 && c <= 0xee)
}

// refine corrects an answer of the detector.
func refine(name string, sample []byte) string {
	switch name {
	case "koi8-r":
		if hasUkrainian(sample) {
			return "koi8-u"
		}
	case name1252, "iso-8859-15":
		if symbolsInWords(sample) {
			return centralEuropean(sample)
		}
	}
	return name
}

// hasUkrainian finds the letters of KOI8-U that KOI8-R uses for drawing boxes,
// next to Cyrillic letters.
func hasUkrainian(sample []byte) bool {
	for i := 1; i+1 < len(sample); i++ {
		switch sample[i] {
		case 0xa4, 0xa6, 0xa7, 0xad, 0xb4, 0xb6, 0xb7, 0xbd:
			if sample[i-1] >= 0xc0 && sample[i+1] >= 0xc0 {
				return true
			}
		}
	}
	return false
}

// symbolsInWords says whether the bytes, read as windows-1252, put signs such as
// superscript digits into words.
func symbolsInWords(sample []byte) bool {
	var letters, symbols int
	for i := 1; i+1 < len(sample); i++ {
		c := sample[i]
		if c < 0x80 {
			continue
		}
		r := charmap.Windows1252.DecodeByte(c)
		switch {
		case unicode.IsLetter(r):
			letters++
		case isWordSign(r):
		case isLower(sample[i+1]) && (isLower(sample[i-1]) || sample[i-1] == ' '):
			symbols++
		}
	}
	return symbols >= 3 && symbols*10 >= letters
}

// isWordSign lists signs that do stand inside words.
func isWordSign(r rune) bool {
	switch r {
	case '’', '‘', '“', '”', '–', '—', '…', '·', '\u00ad', '\u00a0', '®', '™':
		return true
	}
	return false
}

// isLower tells the small letters of windows-1252.
func isLower(c byte) bool { return c >= 'a' && c <= 'z' || c >= 0xdf && c != 0xf7 }

// centralEuropean picks between the two encodings: only windows-1250 has
// letters from 0x80 to 0x9f, and a text of some length uses them.
func centralEuropean(sample []byte) string {
	for i := 1; i < len(sample); i++ {
		switch sample[i] {
		case 0x8a, 0x8c, 0x8d, 0x8e, 0x8f, 0x9a, 0x9c, 0x9d, 0x9e, 0x9f:
			return "windows-1250"
		}
	}
	return "iso-8859-2"
}
