package document

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/contenttype"
)

func TestPDFText(t *testing.T) {
	encode := func(b []byte, err error) []byte {
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	gbk := encode(simplifiedchinese.GBK.NewEncoder().Bytes([]byte("中文文档")))
	sjis := encode(japanese.ShiftJIS.NewEncoder().Bytes([]byte("日本語の文書")))
	euckr := encode(korean.EUCKR.NewEncoder().Bytes([]byte("한국어 문서")))
	tests := []struct{ name, file, want string }{
		{"one page has no mark", pdfOf("Hello world\nSecond line (with parentheses)"), "Hello world\nSecond line (with parentheses)"},
		{"pages are told apart", pdfOf("one", "two"), "[Page 1]\n\none\n\n[Page 2]\n\ntwo"},
		{"Latin letters with marks", pdfOf("caf\xe9 na\xefve"), "café naïve"},
		{"Chinese in a font that is not embedded (ledongthuc/pdf#30)", pdfCJK("UniGB-UCS2-H", "GB1", utf16BE("你好，世界")), "你好，世界"},
		{"Chinese by UTF-16", pdfCJK("UniGB-UTF16-H", "GB1", utf16BE("你好，世界")), "你好，世界"},
		{"traditional Chinese", pdfCJK("UniCNS-UTF16-H", "CNS1", utf16BE("繁體中文")), "繁體中文"},
		{"Chinese in GBK", pdfCJK("GBK-EUC-H", "GB1", gbk), "中文文档"},
		{"Japanese in Shift_JIS", pdfCJK("90ms-RKSJ-H", "Japan1", sjis), "日本語の文書"},
		{"Korean", pdfCJK("KSCms-UHC-H", "Korea1", euckr), "한국어 문서"},
		{"pages whose fonts have the same name (ledongthuc/pdf#60)", pdfSameNames(), "[Page 1]\n\ncafé\n\n[Page 2]\n\n你好"},
		{"a page one of whose streams is missing (ledongthuc/pdf#40)", pdfMissingStream(), "still there"},
		{"a PDF behind junk", "junk in front\n" + pdfOf("still there"), "still there"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := read(t, request(tt.file, contenttype.PDF))
			if got := d.Text(); got != tt.want {
				t.Errorf("got %q, want %q (%v)", got, tt.want, d.Warnings)
			}
		})
	}
}

func TestPDFProperties(t *testing.T) {
	d := read(t, request(pdfOf("x", "y", "z"), contenttype.PDF))
	a := d.About
	if d.Pages != 3 || a.Title != "A report" || a.Byline != "A. Writer" || a.Description != "Tests" ||
		a.Published != "2024-02-29T12:30:00+08:00" || a.Modified != "2024-01-01T00:00:00Z" || a.Properties["producer"] != "by hand" {
		t.Errorf("%d pages, %+v", d.Pages, a)
	}
	if got := d.Markdown(); !strings.HasPrefix(got, "## Page 1\n\nx\n\n## Page 2\n\ny") {
		t.Errorf("Markdown %q", got)
	}
}
