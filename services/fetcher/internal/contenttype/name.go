package contenttype

import (
	"path"
	"strings"
)

// byExtension is what names say. It is own, since the tables of machines differ.
var byExtension = map[string]string{
	".pdf": PDF, ".docx": DOCX, ".docm": DOCX, ".dotx": DOCX, ".xlsx": XLSX, ".xlsm": XLSX, ".xltx": XLSX, ".xlsb": XLSB,
	".pptx": PPTX, ".pptm": PPTX, ".ppsx": PPTX, ".doc": DOC, ".xls": XLS, ".ppt": PPT,
	".csv": CSV, ".tsv": TSV, ".tab": TSV, ".json": JSON, ".geojson": JSON, ".ipynb": JSON, ".jsonl": "application/jsonl",
	".ndjson": "application/x-ndjson", ".xml": XML, ".rss": RSS, ".atom": Atom,
	".md": Markdown, ".markdown": Markdown, ".yaml": "application/yaml", ".yml": "application/yaml", ".toml": "application/toml",
	".js": "application/javascript", ".mjs": "application/javascript", ".css": "text/css", ".sql": "application/sql",
	".sh": "application/x-sh", ".txt": Plain, ".text": Plain, ".log": Plain, ".htm": HTML, ".html": HTML, ".xhtml": XHTML,
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".bmp": "image/bmp",
}

// OfName is the type that the extension of a file name stands for; empty for one
// that says nothing.
func OfName(name string) string { return byExtension[strings.ToLower(path.Ext(name))] }

// Contradicts says that a name promises a document of another kind than what is
// there. Only names of documents and images promise anything: addresses that end
// in .md or .txt are pages as often as not.
func Contradicts(name, actual string) bool {
	promised := OfName(name)
	family, _, _ := strings.Cut(promised, "/")
	switch {
	case promised == "" || promised == actual:
		return false
	case family == "image":
		return !strings.HasPrefix(actual, "image/")
	case promised == PDF:
		return true
	case isOffice(promised):
		return !isOffice(actual)
	}
	return false
}
