package document

import (
	"context"
	"encoding/xml"
	"fmt"
	"strings"
)

const slidesPart = "ppt/presentation.xml"

// readSlides reads the slides of a presentation in their order: each its title,
// texts, tables and the notes of the speaker.
func readSlides(ctx context.Context, in *Request) (*Document, error) {
	file, err := openOffice(in.Body, "PowerPoint")
	if err != nil {
		return nil, err
	}
	if file.parts[slidesPart] == nil {
		return nil, damaged(nil, "the PowerPoint file is damaged: it has no slides inside")
	}
	d := &Document{Kind: KindPresentation, Blocks: []Block{}}
	if d.About, err = file.about(ctx); err != nil {
		return nil, err
	}
	order, err := slideOrder(ctx, file)
	if err != nil {
		return nil, err
	}
	d.Pages = len(order)
	w := &slideReader{wordReader: wordReader{
		writer: writer{doc: d, left: in.MaxText}, file: file, lists: &wordLists{}, cells: maxCells,
	}}
	for i, part := range order {
		if err := w.slide(ctx, part, i+1); err != nil {
			return nil, err
		}
		if w.full() {
			d.warn("page_limit: the text of the first %d of %d slides was read", i+1, d.Pages)
			break
		}
	}
	if w.charts > 0 {
		d.warn("charts: %d charts or diagrams have no text that can be read", w.charts)
	}
	if w.cutCells > 0 {
		d.warn("cell_limit: %d cells are cut at %d bytes", w.cutCells, maxCell)
	}
	return d, nil
}

// slideOrder are the parts of the slides in the order of the presentation.
func slideOrder(ctx context.Context, file *officeFile) ([]string, error) {
	parts, err := file.relations(ctx, slidesPart)
	if err != nil {
		return nil, err
	}
	var order []string
	seen := map[string]bool{}
	err = file.walk(ctx, slidesPart, func(tok xml.Token) error {
		e, ok := tok.(xml.StartElement)
		if !ok || e.Name.Local != "sldId" {
			return nil
		}
		for _, a := range e.Attr { // it has an id of its own, too
			if r := parts[a.Value]; a.Name.Local == "id" && r.kind == "slide" && !seen[r.target] {
				seen[r.target] = true
				order = append(order, r.target)
			}
		}
		return nil
	})
	return order, err
}

// slideReader turns the elements of PresentationML and DrawingML (ECMA-376, 19
// and 21) into blocks. Tables are as in Word.
type slideReader struct {
	wordReader
	shape  shape
	title  string
	hidden bool
	number bool // in the notes: only the text of the body is one
}

// shape is the shape being read.
type shape struct {
	placeholder string // title, ctrTitle, body, ...; "other" for one without a type; empty for a text box
	bullet      paraBullet
	level       int
}

// paraBullet is what a paragraph says of its bullet.
type paraBullet int

const (
	bulletInherited paraBullet = iota
	bulletNone
	bulletOwn
)

func (w *slideReader) slide(ctx context.Context, part string, n int) error {
	from := len(w.doc.Blocks)
	w.title, w.hidden = "", false
	links, err := w.read(ctx, part)
	if err != nil {
		return err
	}
	mark := fmt.Sprintf("Slide %d", n)
	if w.title != "" {
		mark += ": " + w.title
	}
	if w.hidden {
		mark += " (hidden slide)"
	}
	w.insert(from, plainBlock(PageMark, 0, mark))
	for _, r := range links {
		if r.kind != "notesSlide" || w.full() {
			continue
		}
		at := len(w.doc.Blocks)
		w.number = true
		if _, err := w.read(ctx, r.target); err != nil {
			return err
		}
		w.number = false
		if len(w.doc.Blocks) > at {
			w.insert(at, plainBlock(Paragraph, 0, "Notes:"))
		}
	}
	return nil
}

// insert puts a block before others.
func (w *slideReader) insert(at int, b Block) {
	w.push(b)
	copy(w.doc.Blocks[at+1:], w.doc.Blocks[at:])
	w.doc.Blocks[at] = b
}

func (w *slideReader) read(ctx context.Context, part string) (map[string]relation, error) {
	links, err := w.file.relations(ctx, part)
	if err != nil {
		return nil, err
	}
	w.links, w.paras, w.tables, w.inText = links, nil, nil, false
	w.shape = shape{}
	return links, w.file.walk(ctx, part, func(tok xml.Token) error {
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

func (w *slideReader) begin(e xml.StartElement) {
	name := e.Name.Local
	if w.skip > 0 || notContent[name] || name == "fld" && attribute(e, "type") == "slidenum" {
		w.skip++
		return
	}
	if w.beginTable(e) {
		return
	}
	switch name {
	case "sld":
		w.hidden = attribute(e, "show") == "0" || attribute(e, "show") == "false"
	case "sp", "graphicFrame":
		w.shape = shape{}
	case "ph":
		if w.shape.placeholder = attribute(e, "type"); w.shape.placeholder == "" {
			w.shape.placeholder = "other"
		}
	case "cNvPr":
		if alt := oneLine(attribute(e, "descr"), maxProperty); alt != "" && !w.number {
			w.push(plainBlock(Paragraph, 0, w.take("[image: "+alt+"]")))
		}
	case "chart", "relIds":
		w.charts++
	case "p":
		w.paras = append(w.paras, &wordPara{})
		w.shape.bullet, w.shape.level = bulletInherited, 0
	case "pPr":
		w.shape.level = clampInt(attribute(e, "lvl"), 0, 8)
	case "buNone":
		w.shape.bullet = bulletNone
	case "buChar", "buAutoNum", "buBlip":
		w.shape.bullet = bulletOwn
	case "r", "fld":
		w.run, w.url = wordRun{}, ""
	case "rPr":
		w.run = wordRun{bold: isTrue(attribute(e, "b")), italic: isTrue(attribute(e, "i")),
			strike: strings.HasSuffix(attribute(e, "strike"), "Strike")}
	case "hlinkClick":
		if r := w.links[attribute(e, "id")]; r.external && w.para() != nil {
			w.url = absolute(nil, r.target)
		}
	case "t":
		w.inText = true
	case "br":
		w.text("\n")
	}
}

func (w *slideReader) finish(name xml.Name) {
	if w.skip > 0 {
		w.skip--
		return
	}
	switch name.Local {
	case "t":
		w.inText = false
	case "r", "fld":
		w.url = ""
	case "p":
		w.endSlidePara()
	case "tc", "tr", "tbl":
		w.endTable(name.Local)
	}
}

// endSlidePara makes a block of a paragraph by the shape that it is in.
func (w *slideReader) endSlidePara() {
	p := w.para()
	if p == nil {
		return
	}
	w.paras = w.paras[:len(w.paras)-1]
	p.flush()
	b := Block{Kind: Paragraph, Spans: p.spans}
	text := strings.TrimSpace(b.Text())
	switch {
	case text == "":
		return
	case len(w.tables) > 0:
		w.cellText(b)
		return
	}
	switch w.shape.placeholder {
	case "dt", "ftr", "hdr", "sldNum", "sldImg":
		return // date, footer and number are on every slide
	case "title", "ctrTitle":
		if !w.number {
			w.title = strings.Join(strings.Fields(w.title+" "+text), " ")
			return
		}
	case "body", "other", "obj":
		if !w.number && w.shape.bullet != bulletNone {
			b.Kind, b.Level = ListItem, w.shape.level
		}
	default:
		if w.shape.bullet == bulletOwn {
			b.Kind, b.Level = ListItem, w.shape.level
		}
	}
	w.push(b)
}
