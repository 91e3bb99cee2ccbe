package document

import (
	"context"
	"encoding/xml"
	"strconv"
	"strings"
)

// wordStyle is what a paragraph style says.
type wordStyle struct {
	level int // of a heading, from 1; 0: none
	num   wordNum
	base  string
}

// maxStyles is how many styles of one file are read.
const maxStyles = 10_000

// readWordStyles reads the paragraph styles. Headings are told by the built-in
// name, which is English in every language, or by their level in the outline.
func readWordStyles(ctx context.Context, file *officeFile) (map[string]wordStyle, error) {
	styles := map[string]wordStyle{}
	var id string
	var s wordStyle
	err := file.walk(ctx, "word/styles.xml", func(tok xml.Token) error {
		switch t := tok.(type) {
		case xml.StartElement:
			value := attribute(t, "val")
			switch t.Name.Local {
			case "style":
				id, s = attribute(t, "styleId"), wordStyle{}
			case "name":
				s.level = max(s.level, headingLevel(value))
			case "basedOn":
				s.base = value
			case "outlineLvl":
				if n, err := strconv.Atoi(value); err == nil && n >= 0 && n < 9 && s.level == 0 {
					s.level = n + 1
				}
			case "ilvl":
				s.num.level, s.num.set = clampInt(value, 0, 8), true
			case "numId":
				s.num.id, s.num.set = value, true
			}
		case xml.EndElement:
			if t.Name.Local == "style" && id != "" && len(styles) < maxStyles {
				styles[id], id = s, ""
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for id := range styles {
		styles[id] = inherit(styles, id)
	}
	return styles, nil
}

// inherit completes a style by those it is based on.
func inherit(styles map[string]wordStyle, id string) wordStyle {
	s := styles[id]
	base := s.base
	for range 16 { // longer chains are loops
		b, known := styles[base]
		if !known {
			break
		}
		if s.level == 0 {
			s.level = b.level
		}
		if !s.num.set {
			s.num = b.num
		}
		base = b.base
	}
	return s
}

// headingLevel reads a built-in style name.
func headingLevel(name string) int {
	name = strings.ToLower(strings.TrimSpace(name))
	if name == "title" {
		return 1
	}
	if rest, is := strings.CutPrefix(name, "heading "); is && len(rest) == 1 && rest[0] >= '1' && rest[0] <= '9' {
		return int(rest[0] - '0')
	}
	return 0
}

// wordLists numbers the items of lists.
type wordLists struct {
	abstract map[string]string      // of a list, its definition
	levels   map[string][9]wordList // of a definition
	counts   map[string][9]int      // last number, by definition
}

// wordList is one level of a definition.
type wordList struct {
	bullet bool
	start  int
}

// readWordLists reads the definitions of lists.
func readWordLists(ctx context.Context, file *officeFile) (*wordLists, error) {
	l := &wordLists{abstract: map[string]string{}, levels: map[string][9]wordList{}, counts: map[string][9]int{}}
	var definition, list string
	level := -1
	err := file.walk(ctx, "word/numbering.xml", func(tok xml.Token) error {
		e, ok := tok.(xml.StartElement)
		if !ok || len(l.levels) >= maxStyles || len(l.abstract) >= maxStyles {
			return nil
		}
		value := attribute(e, "val")
		switch e.Name.Local {
		case "abstractNum":
			definition, list, level = attribute(e, "abstractNumId"), "", -1
		case "num":
			definition, list, level = "", attribute(e, "numId"), -1
		case "lvl":
			level = clampInt(attribute(e, "ilvl"), 0, 8)
		case "abstractNumId":
			if list != "" {
				l.abstract[list] = value
			}
		case "numFmt", "start":
			if definition == "" || level < 0 {
				return nil
			}
			levels := l.levels[definition]
			if e.Name.Local == "numFmt" {
				levels[level].bullet = value == "bullet" || value == "none"
			} else {
				levels[level].start = clampInt(value, 0, 1<<20)
			}
			l.levels[definition] = levels
		}
		return nil
	})
	return l, err
}

// next is the number of the next item of a list; 0 for a bullet.
func (l *wordLists) next(at wordNum) int {
	definition, known := l.abstract[at.id]
	levels := l.levels[definition]
	if !known || levels[at.level].bullet {
		return 0
	}
	counts := l.counts[definition]
	if counts[at.level] == 0 {
		counts[at.level] = max(levels[at.level].start, 1)
	} else {
		counts[at.level]++
	}
	for deeper := at.level + 1; deeper < len(counts); deeper++ {
		counts[deeper] = 0
	}
	l.counts[definition] = counts
	return counts[at.level]
}
