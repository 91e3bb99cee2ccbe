package document

import (
	"archive/zip"
	"bytes"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"
)

// zipOf is an archive of parts, in the order given.
func zipOf(t testing.TB, parts ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		f, err := w.Create(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(parts[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const (
	wordHead = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?><w:document xmlns:w="w" xmlns:r="r" xmlns:mc="mc"><w:body>`
	wordTail = `<w:sectPr/></w:body></w:document>`

	wordStyles = `<w:styles xmlns:w="w">
<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
<w:style w:type="paragraph" w:styleId="Sub"><w:name w:val="My heading"/><w:basedOn w:val="Two"/></w:style>
<w:style w:type="paragraph" w:styleId="Two"><w:name w:val="Whatever"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Loop"><w:name w:val="Loop"/><w:basedOn w:val="Loop"/></w:style>
<w:style w:type="paragraph" w:styleId="ListBullet"><w:name w:val="List Bullet"/><w:pPr><w:numPr><w:numId w:val="2"/></w:numPr></w:pPr></w:style>
</w:styles>`

	wordNumbers = `<w:numbering xmlns:w="w">
<w:abstractNum w:abstractNumId="7"><w:lvl w:ilvl="0"><w:start w:val="3"/><w:numFmt w:val="decimal"/></w:lvl><w:lvl w:ilvl="1"><w:numFmt w:val="lowerLetter"/></w:lvl></w:abstractNum>
<w:abstractNum w:abstractNumId="8"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="8"/></w:num></w:numbering>`

	wordRels = `<Relationships><Relationship Id="rId1" Type="http://x/hyperlink" Target="https://go.dev/doc/(a)" TargetMode="External"/>
<Relationship Id="rId2" Type="http://x/hyperlink" Target="javascript:alert(1)" TargetMode="External"/></Relationships>`

	wordNotes = `<w:footnotes xmlns:w="w"><w:footnote w:id="-1"><w:p><w:r><w:t>separator</w:t></w:r></w:p></w:footnote>
<w:footnote w:id="4"><w:p><w:r><w:t>By hand,</w:t></w:r></w:p><w:p><w:r><w:t>twice.</w:t></w:r></w:p></w:footnote></w:footnotes>`

	coreProps = `<cp:coreProperties xmlns:cp="cp" xmlns:dc="dc" xmlns:dcterms="t"><dc:title>The plan</dc:title><dc:creator>A. Writer</dc:creator>
<dc:subject>Boats</dc:subject><dcterms:created>2024-02-29T12:00:00Z</dcterms:created><dcterms:modified>yesterday</dcterms:modified></cp:coreProperties>`
)

// wordOf is a Word file with a body of WordprocessingML.
func wordOf(t testing.TB, body string) string {
	t.Helper()
	return zipOf(t, "[Content_Types].xml", "<Types/>", "word/document.xml", wordHead+body+wordTail, "word/styles.xml", wordStyles,
		"word/numbering.xml", wordNumbers, "word/_rels/document.xml.rels", wordRels, "word/footnotes.xml", wordNotes, "docProps/core.xml", coreProps)
}

// para is a paragraph with properties and a run of text.
func para(properties, text string) string {
	return "<w:p><w:pPr>" + properties + "</w:pPr><w:r><w:t>" + text + "</w:t></w:r></w:p>"
}

// cell is a cell of a table.
func cell(properties, text string) string {
	return "<w:tc><w:tcPr>" + properties + "</w:tcPr>" + para("", text) + "</w:tc>"
}

// slidesOf is a presentation whose slides are shapes of PresentationML; the first
// has notes, and its file comes last.
func slidesOf(t testing.TB, notes string, slides ...string) string {
	t.Helper()
	parts := []string{"[Content_Types].xml", "<Types/>", "docProps/core.xml", coreProps}
	var order, rels strings.Builder
	for i, s := range slides {
		n := string(rune('1' + len(slides) - 1 - i)) // the files are numbered the other way round
		order.WriteString(`<p:sldId id="25` + n + `" r:id="rId` + n + `"/>`)
		rels.WriteString(`<Relationship Id="rId` + n + `" Type="http://x/slide" Target="slides/slide` + n + `.xml"/>`)
		if i == 0 && notes != "" {
			parts = append(parts, "ppt/slides/_rels/slide"+n+".xml.rels", `<Relationships><Relationship Id="rId9" Type="http://x/notesSlide" Target="../notesSlides/notesSlide1.xml"/></Relationships>`,
				"ppt/notesSlides/notesSlide1.xml", `<p:notes><p:cSld>`+notes+`</p:cSld></p:notes>`)
		}
		if !strings.HasPrefix(s, "<p:sld ") {
			s = "<p:sld>" + s + "</p:sld>"
		}
		parts = append(parts, "ppt/slides/slide"+n+".xml", s)
	}
	parts = append(parts, "ppt/presentation.xml", `<p:presentation><p:sldIdLst>`+order.String()+`</p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels", "<Relationships>"+rels.String()+"</Relationships>")
	return zipOf(t, parts...)
}

// shapeOf is a shape: a placeholder of a type, or a text box for an empty one.
func shapeOf(placeholder string, paragraphs ...string) string {
	ph := ""
	if placeholder != "" {
		ph = `<p:ph type="` + placeholder + `"/>`
	}
	return `<p:sp><p:nvSpPr><p:nvPr>` + ph + `</p:nvPr></p:nvSpPr><p:txBody>` + strings.Join(paragraphs, "") + `</p:txBody></p:sp>`
}

func slidePara(properties, text string) string {
	return "<a:p>" + properties + "<a:r><a:rPr/><a:t>" + text + "</a:t></a:r></a:p>"
}

// bookOf is a workbook that fill has filled in.
func bookOf(t testing.TB, fill func(*excelize.File) error) string {
	t.Helper()
	f := excelize.NewFile()
	defer func() { _ = f.Close() }()
	if err := fill(f); err != nil {
		t.Fatal(err)
	}
	b, err := f.WriteToBuffer()
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
