package document

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/xuri/excelize/v2"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/contenttype"
)

// fuzzText is how much text fuzzed documents may have, in bytes.
const fuzzText = 64 << 10

// fuzzed reads what a fuzzer made of a document: whatever it is, it ends soon,
// as a document within its limits or as an error in words.
func fuzzed(t *testing.T, r *Reader, body []byte, text, mediaType string) *Document {
	begin := time.Now()
	d, err := r.Read(context.Background(), Request{Body: body, Text: text, Type: mediaType, MaxText: fuzzText})
	if took := time.Since(begin); took > maxTime+10*time.Second {
		t.Errorf("it took %v", took)
	}
	if err != nil {
		var e *Error
		if !errors.As(err, &e) || e.Words == "" || e.Type != mediaType {
			t.Errorf("error %#v", err)
		}
		return nil
	}
	for name, view := range map[string]string{"text": d.Text(), "Markdown": d.Markdown()} {
		if utf8.ValidString(text) && !utf8.ValidString(view) {
			t.Errorf("%s is not UTF-8", name)
		}
	}
	if d.Blocks != nil && !strings.HasPrefix(mediaType, "image/") && len(d.Text()) > 64*fuzzText {
		t.Errorf("%d bytes of text", len(d.Text()))
	}
	for _, table := range d.Tables() {
		for _, row := range table.Rows {
			if len(row) != len(table.Rows[0]) {
				t.Fatalf("rows of %d and %d cells", len(table.Rows[0]), len(row))
			}
		}
	}
	return d
}

func FuzzPDF(f *testing.F) {
	f.Add([]byte(pdfOf("one", "two")))
	f.Add([]byte(pdfCJK("UniGB-UCS2-H", "GB1", utf16BE("你好"))))
	f.Add([]byte("%PDF-1.7\ntrailer<</Root 1 0 R>>"))
	r := newReader(f)
	f.Fuzz(func(t *testing.T, body []byte) { fuzzed(t, r, body, "", contenttype.PDF) })
}

// FuzzWord fuzzes the XML inside; the archive around it would hide it.
func FuzzWord(f *testing.F) {
	f.Add(para(`<w:pStyle w:val="berschrift1"/>`, "a") + para(`<w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr>`, "b"))
	f.Add(`<w:tbl><w:tr>` + cell(`<w:gridSpan w:val="2"/>`, "a") + `</w:tr><w:tr>` + cell(`<w:vMerge/>`, "") + `</w:tr></w:tbl>`)
	f.Add(`<w:p><w:r><w:fldChar w:fldCharType="begin"/><w:instrText>HYPERLINK "x"</w:instrText><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:footnoteReference w:id="4"/></w:r></w:p>`)
	f.Add(`<w:tc></w:tbl><w:p></w:p>`)
	r := newReader(f)
	f.Fuzz(func(t *testing.T, body string) {
		fuzzed(t, r, []byte(wordOf(t, body)), "", contenttype.DOCX)
		fuzzed(t, r, []byte(zipOf(t, "word/document.xml", body, "word/styles.xml", body, "word/numbering.xml", body, "docProps/core.xml", body)), "", contenttype.DOCX)
	})
}

func FuzzSlides(f *testing.F) {
	f.Add(shapeOf("title", slidePara("", "a"))+shapeOf("body", slidePara(`<a:pPr lvl="1"/>`, "b")), shapeOf("body", slidePara("", "c")))
	f.Add(`<a:tbl><a:tr><a:tc gridSpan="3">`+slidePara("", "x")+`</a:tc><a:tc hMerge="1"/></a:tr></a:tbl>`, "")
	r := newReader(f)
	f.Fuzz(func(t *testing.T, slide, notes string) {
		fuzzed(t, r, []byte(slidesOf(t, notes, slide)), "", contenttype.PPTX)
	})
}

func FuzzArchive(f *testing.F) {
	f.Add([]byte(wordOf(f, para("", "a"))))
	f.Add([]byte(slidesOf(f, "", shapeOf("title", slidePara("", "a")))))
	r := newReader(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		fuzzed(t, r, body, "", contenttype.DOCX)
		fuzzed(t, r, body, "", contenttype.PPTX)
		fuzzed(t, r, body, "", contenttype.XLSX)
	})
}

// FuzzWorkbook fuzzes a sheet inside a workbook that is whole otherwise.
func FuzzWorkbook(f *testing.F) {
	const types = `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>`
	const book = `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>`
	const rels = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`
	const head = `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>`
	f.Add(`<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c><c r="B1"><v>1</v></c></row>`, `<fonts/>`)
	f.Add(`<row r="9"><c r="XFD9"><v>1e400</v></c></row><row/>`, `<numFmts><numFmt numFmtId="170" formatCode="yyyy"/></numFmts>`)
	f.Add(string(bookOf(f, func(*excelize.File) error { return nil })), "")
	r := newReader(f)
	f.Fuzz(func(t *testing.T, rows, styles string) {
		fuzzed(t, r, []byte(zipOf(t, "[Content_Types].xml", types, "xl/workbook.xml", book, "xl/_rels/workbook.xml.rels", rels,
			"xl/styles.xml", "<styleSheet>"+styles+"</styleSheet>", "xl/worksheets/sheet1.xml", head+rows+"</sheetData></worksheet>")), "", contenttype.XLSX)
	})
}

func FuzzText(f *testing.F) {
	f.Add("a,b\n1,2\n", uint8(0))
	f.Add("sep=;\na;b\n", uint8(0))
	f.Add(`{"a":[1,{"b":"\"}"}]}`, uint8(1))
	f.Add(`<rss><channel><item><title>a</title><description>&lt;p&gt;b</description></item></channel></rss>`, uint8(2))
	f.Add(`<feed><entry><title>a</title></entry></feed>`, uint8(3))
	f.Add(`{"version":"https://jsonfeed.org/version/1","items":[{"id":1}]}`, uint8(4))
	types := []string{contenttype.CSV, contenttype.JSON, contenttype.RSS, contenttype.Atom, contenttype.JSONFeed, contenttype.TSV}
	r := newReader(f)
	f.Fuzz(func(t *testing.T, text string, kind uint8) {
		text = strings.ToValidUTF8(text, "\uFFFD") // as every text comes
		fuzzed(t, r, []byte(text), text, types[int(kind)%len(types)])
	})
}

func FuzzImage(f *testing.F) {
	texts := map[uint16]string{exifMake: "Canon", exifTaken: "2024:02:29 12:30:00"}
	f.Add([]byte("\xff\xd8\xff\xe1\x00\x10Exif\x00\x00"+tiffOf(binary.LittleEndian, texts, true)), uint8(0))
	f.Add([]byte(tiffOf(binary.BigEndian, texts, false)), uint8(1))
	f.Add([]byte("RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x04\x00\x00"), uint8(2))
	f.Add([]byte("BM"+strings.Repeat("\x01", 40)), uint8(3))
	types := []string{"image/jpeg", "image/tiff", "image/webp", "image/bmp", "image/png", "image/gif"}
	r := newReader(f)
	f.Fuzz(func(t *testing.T, body []byte, kind uint8) { fuzzed(t, r, body, "", types[int(kind)%len(types)]) })
}
