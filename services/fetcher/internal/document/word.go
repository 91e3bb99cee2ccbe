package document

import (
	"context"
	"encoding/xml"
	"strconv"
	"strings"
)

const wordPart = "word/document.xml"

// readWord reads the body of a Word file with its headings, lists, tables, links
// and notes. Page headers, comments and deleted text are not content; hidden text
// is left out and counted.
func readWord(ctx context.Context, in *Request) (*Document, error) {
	file, err := openOffice(in.Body, "Word")
	if err != nil {
		return nil, err
	}
	if file.parts[wordPart] == nil {
		return nil, damaged(nil, "the Word file is damaged: it has no text inside")
	}
	d := &Document{Kind: KindDocument, Blocks: []Block{}}
	if d.About, err = file.about(ctx); err != nil {
		return nil, err
	}
	styles, err := readWordStyles(ctx, file)
	if err != nil {
		return nil, err
	}
	lists, err := readWordLists(ctx, file)
	if err != nil {
		return nil, err
	}
	w := &wordReader{writer: writer{doc: d, left: in.MaxText}, file: file, styles: styles, lists: lists, cells: maxCells}
	if err := w.part(ctx, wordPart); err != nil {
		return nil, err
	}
	for _, notes := range []struct{ part, element string }{{"word/footnotes.xml", "footnote"}, {"word/endnotes.xml", "endnote"}} {
		if err := w.notes(ctx, notes.part, notes.element); err != nil {
			return nil, err
		}
	}
	w.warnings()
	return d, nil
}

// wordReader turns the elements of WordprocessingML (ECMA-376, 17) into blocks.
type wordReader struct {
	writer
	file   *officeFile
	styles map[string]wordStyle
	lists  *wordLists
	links  map[string]relation

	paras  []*wordPara  // open paragraphs; text boxes nest
	tables []*wordTable // open tables
	run    wordRun
	skip   int // depth of what is not content; 0: it is content
	inText bool
	url    string
	field  wordField

	noteIDs map[string]int // number of a note by kind and id
	hidden  int            // characters of hidden text
	charts  int
	// cutCells are cells that were too long.
	cutCells int
	cells    int // that may still be made
}

// wordPara is an open paragraph.
type wordPara struct {
	style string
	level int // of the outline, from 1; 0: by its style
	num   wordNum
	spans []Span

	last  Span // the open span; its text is in text
	text  strings.Builder
	begun bool
}

// wordNum is the place of a paragraph in a list.
type wordNum struct {
	id    string
	level int
	set   bool
}

// wordRun is the style of the text being read.
type wordRun struct{ bold, italic, strike, hidden bool }

// part reads one part of the file.
func (w *wordReader) part(ctx context.Context, name string) (err error) {
	if w.links, err = w.file.relations(ctx, name); err != nil {
		return err
	}
	return w.file.walk(ctx, name, func(tok xml.Token) error {
		switch t := tok.(type) {
		case xml.StartElement:
			w.begin(t)
		case xml.EndElement:
			w.finish(t.Name)
		case xml.CharData:
			if w.inText && w.skip == 0 {
				w.text(string(t))
			}
		}
		if w.full() {
			return errStop
		}
		return nil
	})
}

// notContent are elements with text that is not shown, or shown a second time.
var notContent = map[string]bool{
	"del": true, "moveFrom": true, "Fallback": true, "sectPr": true, "rPrChange": true, "pPrChange": true, "tabs": true,
}

func (w *wordReader) begin(e xml.StartElement) {
	name := e.Name.Local
	if w.skip > 0 || notContent[name] {
		w.skip++
		return
	}
	if w.beginTable(e) || w.beginProperty(e) {
		return
	}
	switch name {
	case "p":
		w.paras = append(w.paras, &wordPara{})
	case "r":
		w.run = wordRun{}
	case "t", "instrText":
		w.inText = true
		w.field.instruction = name == "instrText"
	case "tab", "ptab":
		w.text("\t")
	case "br", "cr":
		w.text("\n")
	case "noBreakHyphen":
		w.text("-")
	case "fldChar":
		w.fieldChar(attribute(e, "fldCharType"))
	case "hyperlink":
		if r := w.links[attribute(e, "id")]; r.external {
			w.url = absolute(nil, r.target)
		}
	case "footnoteReference", "endnoteReference":
		w.noteMark(strings.TrimSuffix(name, "Reference"), attribute(e, "id"))
	case "docPr":
		if alt := oneLine(attribute(e, "descr"), maxProperty); alt != "" {
			w.text("[image: " + alt + "]")
		}
	case "chart", "relIds":
		w.charts++
	}
}

// beginProperty takes what paragraphs and runs say of themselves.
func (w *wordReader) beginProperty(e xml.StartElement) bool {
	p := w.para()
	if p == nil {
		return false
	}
	value := attribute(e, "val")
	switch e.Name.Local {
	case "pStyle":
		p.style = value
	case "outlineLvl":
		if n, err := strconv.Atoi(value); err == nil && n >= 0 && n < 9 {
			p.level = n + 1
		}
	case "ilvl":
		p.num.level, p.num.set = clampInt(value, 0, 8), true
	case "numId":
		p.num.id, p.num.set = value, true
	case "b":
		w.run.bold = isOn(value)
	case "i":
		w.run.italic = isOn(value)
	case "strike", "dstrike":
		w.run.strike = isOn(value)
	case "vanish", "webHidden":
		w.run.hidden = e.Name.Local == "vanish" && isOn(value)
	default:
		return false
	}
	return true
}

// isOn reads a switch, which is on when it has no value.
func isOn(value string) bool {
	return value == "" || value == "1" || value == "true" || value == "on"
}

func clampInt(s string, low, high int) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return low
	}
	return min(max(n, low), high)
}

func (w *wordReader) finish(name xml.Name) {
	if w.skip > 0 {
		w.skip--
		return
	}
	switch name.Local {
	case "t", "instrText":
		w.inText, w.field.instruction = false, false
	case "hyperlink":
		w.url = ""
	case "p":
		w.endPara()
	case "tc", "tr", "tbl":
		w.endTable(name.Local)
	}
}

func (w *wordReader) para() *wordPara {
	if len(w.paras) == 0 {
		return nil
	}
	return w.paras[len(w.paras)-1]
}

// text adds text to the paragraph that is open.
func (w *wordReader) text(s string) {
	p := w.para()
	switch {
	case w.field.instruction:
		w.field.collect(s)
		return
	case p == nil || w.field.inCode():
		return
	case w.run.hidden:
		w.hidden += len([]rune(s))
		return
	}
	url := w.url
	if url == "" {
		url = w.field.url
	}
	p.write(&w.writer, Span{Text: s, Bold: w.run.bold, Italic: w.run.italic, Strike: w.run.strike, URL: url})
}

// write adds text, to the last span where its style is the same: Word cuts texts
// into runs at every change that was ever made.
func (p *wordPara) write(w *writer, s Span) {
	s.Text = w.take(s.Text)
	if p.begun && s.Note == 0 && sameStyle(p.last, s) {
		p.text.WriteString(s.Text)
		return
	}
	p.flush()
	w.left -= spanCost
	if s.Note > 0 {
		p.spans = append(p.spans, s)
		return
	}
	p.text.WriteString(s.Text)
	p.last, p.begun = s, true
}

// flush ends the open span.
func (p *wordPara) flush() {
	if p.begun {
		p.last.Text = p.text.String()
		p.spans = append(p.spans, p.last)
	}
	p.text.Reset()
	p.begun = false
}

// endPara makes a block of a paragraph, or text of the cell that it is in.
func (w *wordReader) endPara() {
	p := w.para()
	if p == nil {
		return
	}
	w.paras = w.paras[:len(w.paras)-1]
	p.flush()
	b := w.blockOf(p)
	if strings.TrimSpace(b.Text()) == "" {
		return
	}
	if len(w.tables) > 0 {
		w.cellText(b)
		return
	}
	w.push(b)
}

func (w *wordReader) blockOf(p *wordPara) Block {
	style := w.styles[p.style]
	b := Block{Kind: Paragraph, Spans: p.spans}
	level := p.level
	if level == 0 {
		level = style.level
	}
	num := p.num
	if !num.set {
		num = style.num
	}
	switch {
	case level > 0:
		b.Kind, b.Level = Heading, min(level, 6)
	case num.id != "" && num.id != "0":
		b.Kind, b.Level = ListItem, num.level
		b.Number = w.lists.next(num)
	}
	return b
}

// warnings tell what is not in the text.
func (w *wordReader) warnings() {
	w.doc.Hidden = w.hidden
	if w.hidden > 0 {
		w.doc.warn("hidden_text: %d characters that are marked as hidden were left out", w.hidden)
	}
	if w.charts > 0 {
		w.doc.warn("charts: %d charts or diagrams have no text that can be read", w.charts)
	}
	if w.cutCells > 0 {
		w.doc.warn("cell_limit: %d cells are cut at %d bytes", w.cutCells, maxCell)
	}
	if w.full() {
		w.doc.warn("page_limit: the document is longer than what is read")
	}
}
