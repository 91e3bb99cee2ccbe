package document

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf16"
)

// pdfFile writes PDF files by hand: small, and broken where a test wants them to
// be. Objects are numbered from 1 on.
type pdfFile struct {
	objects []string
	info    string
}

// object adds an object and gives its number.
func (p *pdfFile) object(format string, args ...any) int {
	p.objects = append(p.objects, fmt.Sprintf(format, args...))
	return len(p.objects)
}

func (p *pdfFile) stream(data string) int {
	return p.object("<< /Length %d >>\nstream\n%s\nendstream", len(data), data)
}

// pages finishes the file: every content is a page with the fonts.
func (p *pdfFile) pages(fonts string, contents ...string) string {
	tree := len(p.objects) + 2*len(contents) + 1
	var kids strings.Builder
	for _, c := range contents {
		s := p.stream(c)
		page := p.object("<< /Type /Page /Parent %d 0 R /MediaBox [0 0 595 842] /Contents %d 0 R /Resources << /Font << %s >> >> >>", tree, s, fonts)
		fmt.Fprintf(&kids, "%d 0 R ", page)
	}
	p.object("<< /Type /Pages /Kids [ %s] /Count %d >>", kids.String(), len(contents))
	root := p.object("<< /Type /Catalog /Pages %d 0 R >>", tree)
	return p.write(root)
}

func (p *pdfFile) write(root int) string {
	var info string
	if p.info != "" {
		info = fmt.Sprintf(" /Info %d 0 R", p.object("%s", p.info))
	}
	var out bytes.Buffer
	out.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	var offsets []int
	for i, o := range p.objects {
		offsets = append(offsets, out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	xref := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, at := range offsets {
		fmt.Fprintf(&out, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&out, "trailer\n<< /Size %d /Root %d 0 R%s >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, root, info, xref)
	return out.String()
}

const helvetica = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"

// pdfOf is a PDF with a page for each text; lines of a text are lines of the page.
func pdfOf(texts ...string) string {
	var p pdfFile
	font := p.object(helvetica)
	var contents []string
	for _, t := range texts {
		var c strings.Builder
		c.WriteString("BT /F1 12 Tf 14 TL 72 770 Td ")
		for _, line := range strings.Split(t, "\n") {
			fmt.Fprintf(&c, "(%s) Tj T* ", strings.NewReplacer(`\`, `\\`, `(`, `\(`, `)`, `\)`).Replace(line))
		}
		c.WriteString("ET")
		contents = append(contents, c.String())
	}
	p.info = "<< /Title (A report) /Author (A. Writer) /Subject (Tests) /CreationDate (D:20240229123000+08'00') /ModDate (D:2024) /Producer (by hand) >>"
	return p.pages(fmt.Sprintf("/F1 %d 0 R", font), contents...)
}

// pdfCJK is a page in a font that is not embedded and whose encoding is one of
// the predefined character maps; code writes the text in it.
func pdfCJK(cmap, ordering string, code []byte) string {
	var p pdfFile
	descriptor := p.object("<< /Type /FontDescriptor /FontName /Song /Flags 4 /FontBBox [0 -120 1000 880] /ItalicAngle 0 /Ascent 880 /Descent -120 /CapHeight 700 /StemV 80 >>")
	cid := p.object("<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Song /CIDSystemInfo << /Registry (Adobe) /Ordering (%s) /Supplement 2 >> /FontDescriptor %d 0 R >>", ordering, descriptor)
	font := p.object("<< /Type /Font /Subtype /Type0 /BaseFont /Song /Encoding /%s /DescendantFonts [%d 0 R] >>", cmap, cid)
	return p.pages(fmt.Sprintf("/F1 %d 0 R", font), fmt.Sprintf("BT /F1 12 Tf 72 770 Td <%X> Tj ET", code))
}

func utf16BE(s string) []byte {
	var out []byte
	for _, u := range utf16.Encode([]rune(s)) {
		out = append(out, byte(u>>8), byte(u))
	}
	return out
}

// pdfSameNames has two pages, each with a font of its own that is called F1.
func pdfSameNames() string {
	var p pdfFile
	latin := p.object(helvetica)
	cid := p.object("<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Song /CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 2 >> >>")
	song := p.object("<< /Type /Font /Subtype /Type0 /BaseFont /Song /Encoding /UniGB-UCS2-H /DescendantFonts [%d 0 R] >>", cid)
	const page = "<< /Type /Page /Parent 8 0 R /MediaBox [0 0 595 842] /Contents %d 0 R /Resources << /Font << /F1 %d 0 R >> >> >>"
	first := p.object(page, p.stream("BT /F1 12 Tf 72 770 Td (caf\xe9) Tj ET"), latin)
	second := p.object(page, p.stream(fmt.Sprintf("BT /F1 12 Tf 72 770 Td <%X> Tj ET", utf16BE("你好"))), song)
	p.object("<< /Type /Pages /Kids [ %d 0 R %d 0 R ] /Count 2 >>", first, second)
	return p.write(p.object("<< /Type /Catalog /Pages 8 0 R >>"))
}

// pdfMissingStream has a page of three streams, one of which is not there and one
// is no stream.
func pdfMissingStream() string {
	var p pdfFile
	font := p.object(helvetica)
	text := p.stream("BT /F1 12 Tf 72 770 Td (still there) Tj ET")
	page := p.object("<< /Type /Page /Parent 4 0 R /MediaBox [0 0 595 842] /Contents [ 99 0 R %d 0 R %d 0 R ] /Resources << /Font << /F1 %d 0 R >> >> >>", font, text, font)
	p.object("<< /Type /Pages /Kids [ %d 0 R ] /Count 1 >>", page)
	return p.write(p.object("<< /Type /Catalog /Pages 4 0 R >>"))
}
