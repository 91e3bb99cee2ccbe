package filetype

import (
	"strings"
	"testing"
)

const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"

func TestTheBytesSayWhatAFileIs(t *testing.T) {
	for _, tc := range []struct{ name, file, head, want string }{
		{"an image", "a.png", png, "image/png"},
		{"an image under the name of a page", "a.html", png, "image/png"},
		{"a page under the name of an image", "a.png", "<!DOCTYPE html><script>alert(1)</script>", HTML},
		{"a page under the name of text", "a.txt", "<html><body>", HTML},
		{"a page after a comment and white space", "a.csv", " \n<!-- x --><p><script src=x>", HTML},
		{"a drawing with scripts", "a.svg", `<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>`, SVG},
		{"a drawing after its declaration", "a.png", `<?xml version="1.0"?><!-- x --><SVG>`, SVG},
		{"XML", "a.txt", `<?xml version="1.0"?><feed>`, XML},
		{"text", "a.txt", "hello\n", Plain},
		{"text without a name", "", "hello\n", Plain},
		{"text in an old encoding", "a.txt", "caf\xe9 \xb9\xfa\n", Plain},
		{"a table", "A.CSV", "a,b\n1,2\n", "text/csv"},
		{"notes", "a.md", "# a\n", "text/markdown"},
		{"JSON by its name", "a.json", `{"a":1}`, "application/json"},
		{"nothing yet", "a.txt", "", Plain},
		{"a table without a row", "a.csv", "", "text/csv"},
		{"text with a zero byte late", "a.txt", strings.Repeat("a", 3000) + "\x00", Binary},
		{"text of two bytes a character", "a.txt", "\xff\xfea\x00b\x00", Binary},
		{"a binary under the name of a table", "a.csv", "\x00\x01\x02", Binary},
		{"a document", "a.pdf", "%PDF-1.7\n", "application/pdf"},
		{"an archive", "a.zip", "PK\x03\x04", "application/zip"},
		{"a workbook", "a.xlsx", "PK\x03\x04", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
		{"a program", "a.txt", "\x7fELF\x02\x01\x01", "application/x-executable"},
		{"a database", "a.db", "SQLite format 3\x00\x10", "application/vnd.sqlite3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Detect([]byte(tc.head), tc.file); got != tc.want {
				t.Errorf("%q is %s, want %s", tc.head, got, tc.want)
			}
		})
	}
}

func TestWhatCanBeReadAsText(t *testing.T) {
	for mediaType, want := range map[string]bool{
		Plain: true, HTML: true, SVG: true, XML: true, "text/csv": true, "application/json": true,
		Binary: false, "image/png": false, "application/pdf": false, "application/zip": false,
	} {
		if got := IsText(mediaType); got != want {
			t.Errorf("IsText(%s) = %t", mediaType, got)
		}
	}
}

func FuzzDetect(f *testing.F) {
	f.Add([]byte(png), "a.html")
	f.Add([]byte("<svg"), "a.csv")
	f.Fuzz(func(t *testing.T, head []byte, name string) {
		got := Detect(head, name)
		if got == "" || strings.ContainsAny(got, "; \r\n") {
			t.Fatalf("type %q", got)
		}
		if plain := Detect(head, ""); IsText(plain) != IsText(got) {
			t.Fatalf("the name %q turned %s into %s", name, plain, got)
		}
	})
}
