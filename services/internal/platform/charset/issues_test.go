package charset

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// Every page here is a failure that somebody reported of a reader of pages.
func TestReportedCharsetsAreRead(t *testing.T) {
	chinese := strings.Repeat("港口的早晨来得很早，渔民们在天亮之前出海，中午就回来了。", 12)
	russian := strings.Repeat("Утром рыбаки выходят в море, а к полудню возвращаются в гавань. ", 12)
	tests := []struct {
		name, header, head, text string
		enc                      encoding.Encoding
	}{
		{"gocolly/colly#155: gb2312 is only in the meta element", "text/html", `<meta charset="gb2312">`, chinese, simplifiedchinese.GBK},
		{"gocolly/colly#73: gbk is only in the http-equiv element", "text/html", `<meta http-equiv="Content-Type" content="text/html; charset=gbk">`, chinese, simplifiedchinese.GBK},
		{"gocolly/colly#777: windows-1251 is taken for Latin", "text/html", "", russian, charmap.Windows1251},
		{"extractus/article-extractor#320: GBK is in the header", "text/html; charset=GBK", "", chinese, simplifiedchinese.GBK},
		{"postlight/parser#263: Russian that the meta element names", "text/html", `<meta charset=windows-1251>`, russian, charmap.Windows1251},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body, err := tt.enc.NewEncoder().String("<html><head>" + tt.head + "</head><body><p>" + tt.text + "</p></body></html>")
			if err != nil {
				t.Fatal(err)
			}
			got, r := ToUTF8([]byte(body), tt.header)
			if !strings.Contains(string(got), tt.text) {
				t.Errorf("read as %s: %.300q", r.Name, got)
			}
		})
	}
}
