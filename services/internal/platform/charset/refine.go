package charset

// The detector knows no Thai and no Ukrainian, and takes the Central European
// and Baltic encodings for the Western one. What it misses is told by what the letters of
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
	case name1252, "iso-8859-15", "iso-8859-2", "windows-1250", "windows-1254", "windows-1257":
		if looksIBM866(sample) {
			return "ibm866"
		}
		return latin(name, sample)
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

// looksIBM866 tells the Cyrillic of DOS: its letters stand where the Western
// encodings have signs that no text is full of, and the six commonest are a
// third of it.
func looksIBM866(sample []byte) bool {
	var high, letters, common int
	for _, c := range sample {
		switch {
		case c < 0x80:
			continue
		case c <= 0xaf, c >= 0xe0 && c <= 0xf1:
			letters++
		}
		high++
		switch c {
		case 0xa0, 0xa5, 0xa8, 0xad, 0xae, 0xe2: // а е и н о т
			common++
		}
	}
	const enough = 40
	return high >= enough && letters*100 >= high*97 && common*3 >= high
}
