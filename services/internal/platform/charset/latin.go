package charset

import (
	"strings"
	"unicode"

	"golang.org/x/text/encoding/charmap"
)

// alphabet is the letters beyond ASCII of languages, by an encoding they are
// written in.
type alphabet struct {
	encoding string
	table    *charmap.Charmap
	letters  []string // of a language each, small ones
}

// alphabets are those of the Latin encodings that share most of their bytes, in
// the order in which they are preferred.
var alphabets = [...]alphabet{
	{name1252, charmap.Windows1252, []string{
		"äöüß", "àâæçéèêëîïôœùûüÿ", "áéíóúüñçàèòï", "ãõáâàçéêíóôúü", "àèéìíîòóùú", "åäöéæøòó", "ëéèïöüóâêûôá", "áéíóúýðþæö",
	}},
	{"windows-1250", charmap.Windows1250, centralLetters},
	{"iso-8859-2", charmap.ISO8859_2, centralLetters},
	{"windows-1254", charmap.Windows1254, []string{"çğıiöşüâîû"}},
	{"windows-1257", charmap.Windows1257, []string{"ąčęėįšųūž", "āčēģīķļņšūž", "äõöüšž"}},
}

var centralLetters = []string{"ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíľĺňóôŕšťúýž", "áéíóöőúüű", "ăâîşţ", "čćđšž"}

// enoughLetters is how many letters beyond ASCII tell a language.
const enoughLetters = 6

// latin picks the encoding in which a text is most nearly made of the letters
// of one language, the Western one where several are as good.
func latin(name string, sample []byte) string {
	var count [256]int
	for _, c := range sample {
		if c >= 0x80 {
			count[c]++
		}
	}
	best, bestShare := name, -1.0
	for _, a := range alphabets {
		share, letters := a.fits(&count)
		if letters >= enoughLetters && share > bestShare+0.01 {
			best, bestShare = a.encoding, share
		}
	}
	if bestShare < 0.5 {
		return name // no language that is known here
	}
	return best
}

// fits is the share of the characters that are letters of the language that has
// most of them, and how many were looked at. Quotation marks, dashes and such
// are of no language.
func (a *alphabet) fits(count *[256]int) (share float64, letters int) {
	var of [8]int
	for c, n := range count {
		if n == 0 {
			continue
		}
		r := a.table.DecodeByte(byte(c))
		if isSign(r) {
			continue
		}
		letters += n
		r = unicode.ToLower(r)
		for i, s := range a.letters {
			if strings.ContainsRune(s, r) {
				of[i] += n
			}
		}
	}
	if letters == 0 {
		return 0, 0
	}
	most := 0
	for _, n := range of {
		most = max(most, n)
	}
	return float64(most) / float64(letters), letters
}

// isSign lists signs that texts of every language have.
func isSign(r rune) bool {
	switch r {
	case '’', '‘', '“', '”', '„', '‚', '‹', '›', '«', '»', '–', '—', '…', '·', '•', '§', '°', '©', '®', '™', '€', '£', '¿', '¡', '\u00ad', '\u00a0':
		return true
	}
	return false
}
