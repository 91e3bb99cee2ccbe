package contenttype

import (
	"archive/zip"
	"bytes"
	"testing"
)

// archive is a zip of empty entries; of the entry mimetype the second string is
// the content.
func archive(t *testing.T, mimetype string, names ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	if mimetype != "" {
		f, err := w.CreateHeader(&zip.FileHeader{Name: "mimetype", Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(mimetype)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		if _, err := w.Create(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestDetectDocuments(t *testing.T) {
	word := archive(t, "", "[Content_Types].xml", "word/document.xml")
	sheet := archive(t, "", "[Content_Types].xml", "xl/workbook.xml")
	slides := archive(t, "", "[Content_Types].xml", "ppt/presentation.xml")
	cut := archive(t, "", "[Content_Types].xml", "word/document.xml")
	cut = cut[:len(cut)-30]
	ole := func(stream string) string { return oleMark + string(make([]byte, 64)) + string(utf16LE(stream)) }
	tests := []struct {
		name, body, header, file string
		want                     string
		mismatch                 bool
	}{
		{"a Word file", word, DOCX, "", DOCX, false},
		{"a Word file without a header", word, "", "", DOCX, false},
		{"a Word file as bytes", word, "application/octet-stream", "a.docx", DOCX, false},
		{"a Word file as an archive", word, "application/zip", "", DOCX, false},
		{"a Word template", word, "application/vnd.openxmlformats-officedocument.wordprocessingml.template", "", DOCX, false},
		{"a Word file with macros", word, "application/vnd.ms-word.document.macroenabled.12", "", DOCX, false},
		{"a Word file as the format before", word, DOC, "", DOCX, false},
		{"a Word file as HTML", word, "text/html", "", DOCX, true},
		{"a Word file as a workbook", word, XLSX, "", DOCX, true},
		{"a Word file that broke off", cut, "", "", DOCX, false},
		{"a workbook as the format before", sheet, XLS, "", XLSX, false},
		{"slides", slides, "", "", PPTX, false},
		{"a binary workbook", archive(t, "", "xl/workbook.bin"), "", "", XLSB, false},
		{"text of OpenOffice", archive(t, "application/vnd.oasis.opendocument.text", "content.xml"), "", "", "application/vnd.oasis.opendocument.text", false},
		{"a book", archive(t, "application/epub+zip"), "application/zip", "", "application/epub+zip", true},
		{"an archive", archive(t, "", "a.txt"), "", "", Zip, false},
		{"a Word file before 2007", ole("WordDocument"), "", "", DOC, false},
		{"a workbook before 2007", ole("Workbook"), XLS, "", XLS, false},
		{"slides before 2007", ole("PowerPoint Document"), "", "", PPT, false},
		{"a Word file behind a password", ole("EncryptedPackage"), DOCX, "", Encrypted, false},
		{"a compound file of another program", ole("Thumbs"), "", "", OLE, false},
		{"CSV by its name", "a,b\n", "", "data.CSV", CSV, false},
		{"CSV by its name, served as text", "a,b\n", "text/plain", "data.csv", CSV, false},
		{"CSV by its header, whatever the name", "a,b\n", "text/csv", "data.txt", CSV, false},
		{"Markdown by its name", "# a", "", "README.md", Markdown, false},
		{"text is no HTML by its name", "hello", "", "a.html", Plain, false},
		{"text is no PDF by its name", "hello", "", "a.pdf", Plain, false},
		{"HTML is HTML, whatever its name", "<!doctype html>", "", "a.pdf", HTML, false},
		{"JSON is JSON, whatever its name", `{"a":1}`, "", "a.csv", JSON, false},
		{"unknown bytes by their name", "\x00\x01\x02\xff", "", "old.xls", XLS, false},
		{"unknown bytes are no text by their name", "\x00\x01\x02\xff", "", "a.txt", Binary, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Detect([]byte(tt.body), tt.header, tt.file)
			if got.Type != tt.want || got.Mismatch != tt.mismatch {
				t.Errorf("got %+v, want %s, mismatch %t", got, tt.want, tt.mismatch)
			}
		})
	}
}

func TestContradicts(t *testing.T) {
	tests := []struct {
		name, file, actual string
		want               bool
	}{
		{"a PDF that is a page", "paper.pdf", HTML, true},
		{"a PDF that is one", "paper.pdf", PDF, false},
		{"an Office file that is a page", "plan.docx", HTML, true},
		{"an Office file of another generation", "plan.doc", DOCX, false},
		{"an image that is another image", "a.jpg", "image/png", false},
		{"an image that is a page", "a.jpg", HTML, true},
		{"a page about a text file", "README.md", HTML, false},
		{"a name that says nothing", "download", HTML, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Contradicts(tt.file, tt.actual); got != tt.want {
				t.Errorf("Contradicts(%q, %q) = %t", tt.file, tt.actual, got)
			}
		})
	}
}
