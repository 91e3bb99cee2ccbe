package document

import (
	"context"
	"encoding/xml"
	"strings"
)

// wordField follows the fields of Word: begin, code, separate, result, end. Only
// the result is text, and the code of a link says where it leads.
type wordField struct {
	stack       []bool // for each open field: its code is being read
	instruction bool   // text is code
	code        strings.Builder
	url         string
}

// maxFieldCode bounds the code of a field, in bytes.
const maxFieldCode = 16 << 10

func (f *wordField) inCode() bool { return len(f.stack) > 0 && f.stack[len(f.stack)-1] }

func (f *wordField) collect(s string) {
	if f.code.Len()+len(s) <= maxFieldCode {
		f.code.WriteString(s)
	}
}

func (w *wordReader) fieldChar(kind string) {
	f := &w.field
	switch {
	case kind == "begin" && len(f.stack) < maxDepth:
		f.stack = append(f.stack, true)
		f.code.Reset()
	case kind == "separate" && len(f.stack) > 0:
		f.stack[len(f.stack)-1] = false
		if u := linkOfCode(f.code.String()); u != "" {
			f.url = u
		}
	case kind == "end" && len(f.stack) > 0:
		if f.stack = f.stack[:len(f.stack)-1]; len(f.stack) == 0 {
			f.url = ""
		}
	}
}

// linkOfCode reads HYPERLINK "address".
func linkOfCode(code string) string {
	rest, is := strings.CutPrefix(strings.TrimSpace(code), "HYPERLINK")
	if !is {
		return ""
	}
	rest = strings.TrimSpace(rest)
	if !strings.HasPrefix(rest, `"`) {
		return "" // a place in the document
	}
	u, _, _ := strings.Cut(rest[1:], `"`)
	return absolute(nil, u)
}

// noteMark puts the number of a note into the text.
func (w *wordReader) noteMark(kind, id string) {
	p := w.para()
	if p == nil {
		return
	}
	if w.noteIDs == nil {
		w.noteIDs = map[string]int{}
	}
	key := kind + " " + id
	if w.noteIDs[key] == 0 {
		w.noteIDs[key] = len(w.noteIDs) + 1
	}
	p.write(&w.writer, Span{Note: w.noteIDs[key]})
}

// notes reads a part of notes; those that the text refers to become blocks at its
// end.
func (w *wordReader) notes(ctx context.Context, part, element string) (err error) {
	if len(w.noteIDs) == 0 || w.full() || w.file.parts[part] == nil {
		return nil
	}
	if w.links, err = w.file.relations(ctx, part); err != nil {
		return err
	}
	w.paras, w.tables = nil, nil
	number, from := 0, 0
	return w.file.walk(ctx, part, func(tok xml.Token) error {
		switch t := tok.(type) {
		case xml.StartElement:
			if t.Name.Local == element {
				number, from = w.noteIDs[element+" "+attribute(t, "id")], len(w.doc.Blocks)
				return nil
			}
			if number > 0 {
				w.begin(t)
			}
		case xml.EndElement:
			switch {
			case t.Name.Local == element:
				w.mergeNote(number, from)
				number = 0
			case number > 0:
				w.finish(t.Name)
			}
		case xml.CharData:
			if number > 0 && w.inText && w.skip == 0 {
				w.text(string(t))
			}
		}
		if w.full() {
			return errStop
		}
		return nil
	})
}

// mergeNote makes one block of the paragraphs of a note.
func (w *wordReader) mergeNote(number, from int) {
	if number == 0 || from == len(w.doc.Blocks) {
		return
	}
	note := Block{Kind: Note, Number: number}
	for i, b := range w.doc.Blocks[from:] {
		if i > 0 {
			note.Spans = append(note.Spans, Span{Text: " "})
		}
		note.Spans = append(note.Spans, b.Spans...)
	}
	w.doc.Blocks = append(w.doc.Blocks[:from], note)
}
