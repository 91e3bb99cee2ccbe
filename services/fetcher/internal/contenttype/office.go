package contenttype

import (
	"archive/zip"
	"bytes"
	"strings"
)

// zipSniffLen is how much of a broken archive is searched for names, in bytes.
const zipSniffLen = 64 << 10

// maxZipEntries is how many entries of an archive are looked at.
const maxZipEntries = 10_000

// zipParts tell what an archive is by an entry that all of its kind have.
var zipParts = map[string]string{
	"word/document.xml":    DOCX,
	"xl/workbook.xml":      XLSX,
	"xl/workbook.bin":      XLSB,
	"ppt/presentation.xml": PPTX,
}

// sniffZip tells Office files from other archives.
func sniffZip(body []byte) string {
	archive, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return sniffBrokenZip(body)
	}
	for i, f := range archive.File {
		if i == maxZipEntries {
			break
		}
		if kind, known := zipParts[f.Name]; known {
			return kind
		}
		// OpenDocument and EPUB begin with their type, stored as it is.
		if i == 0 && f.Name == "mimetype" && f.Method == zip.Store && f.UncompressedSize64 < 100 {
			if from, err := f.DataOffset(); err == nil && from >= 0 && from+int64(f.UncompressedSize64) <= int64(len(body)) {
				if kind := mediaType(string(body[from : from+int64(f.UncompressedSize64)])); kind != "" {
					return kind
				}
			}
		}
	}
	return Zip
}

// sniffBrokenZip tells by the names in front of the entries, since an archive
// that was cut has no directory.
func sniffBrokenZip(body []byte) string {
	head := body[:min(len(body), zipSniffLen)]
	for _, part := range []struct{ name, kind string }{
		{"word/", DOCX}, {"xl/", XLSX}, {"ppt/", PPTX},
	} {
		// Entry names follow a header that ends with two lengths.
		if bytes.Contains(head, []byte(part.name)) && bytes.Contains(head, []byte("[Content_Types].xml")) {
			return part.kind
		}
	}
	return Zip
}

// oleMark begins every compound file: Office files before 2007, and encrypted
// ones of today.
const oleMark = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

// sniffOLE tells compound files apart by the names in their directory, which are
// UTF-16.
func sniffOLE(body []byte) string {
	for _, stream := range []struct{ name, kind string }{
		{"EncryptedPackage", Encrypted},
		{"WordDocument", DOC},
		{"PowerPoint Document", PPT},
		{"Workbook", XLS},
		{"__substg1.0_", "application/vnd.ms-outlook"},
	} {
		if bytes.Contains(body, utf16LE(stream.name)) {
			return stream.kind
		}
	}
	return OLE
}

func utf16LE(s string) []byte {
	out := make([]byte, 0, 2*len(s))
	for i := range len(s) {
		out = append(out, s[i], 0)
	}
	return out
}

// isOffice says that the bytes were recognised as an Office file, whatever
// variant of it (template, with macros) the header calls it.
func isOffice(sniffed string) bool {
	switch sniffed {
	case DOCX, XLSX, XLSB, PPTX, DOC, XLS, PPT, Encrypted, OLE:
		return true
	}
	return false
}

// officeFamily says whether a declared type fits an Office file.
func officeFamily(declared, sniffed string) bool {
	switch {
	case declared == "" || declared == Binary || strings.HasSuffix(declared, "zip") || strings.Contains(declared, "zip-compressed"):
		return true
	case sniffed == Encrypted || sniffed == OLE:
		return strings.Contains(declared, "office") || strings.Contains(declared, "ms-") || declared == DOC
	}
	for _, family := range [][2]string{{"word", "word"}, {"excel", "sheet"}, {"powerpoint", "presentation"}} {
		is := strings.Contains(sniffed, family[0]) || strings.Contains(sniffed, family[1])
		if is && (strings.Contains(declared, family[0]) || strings.Contains(declared, family[1])) {
			return true
		}
	}
	return false
}
