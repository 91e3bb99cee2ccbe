package charset

import (
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

const (
	chinese  = "网页的编码没有写明的时候，只能从字节本身来判断，这段文字就是为此而写的。"
	japanesT = "文字コードが書かれていないページは、バイト列そのものから判断するしかない。"
	taiwan   = "網頁沒有寫明編碼的時候，只能從位元組本身來判斷，這段文字就是為此而寫的。"
	russian  = "Страница не говорит, в какой она кодировке, и судить можно только по байтам."
)

func in(t *testing.T, e encoding.Encoding, s string) string {
	t.Helper()
	out, err := e.NewEncoder().String(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTheOrderOfBelief(t *testing.T) {
	gbk := in(t, simplifiedchinese.GBK, chinese)
	tests := []struct {
		name, body, header string
		want               Result
		text               string
	}{
		{"a byte order mark beats the header", "\xef\xbb\xbf" + chinese, "text/html; charset=gbk", Result{Name: "utf-8", Source: SourceBOM}, chinese},
		{"the mark of UTF-16", "\xff\xfe" + in(t, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), chinese), "", Result{Name: "utf-16le", Source: SourceBOM}, chinese},
		{"the header beats the meta", `<meta charset=utf-8>` + gbk, "text/html; charset=GB2312", Result{Name: "gbk", Source: SourceHeader}, chinese},
		{"a header of broken syntax is read", gbk, "text/html; charset=gbk; ;=", Result{Name: "gbk", Source: SourceHeader}, chinese},
		{"a quoted header", gbk, `text/html; charset="gb18030"`, Result{Name: "gb18030", Source: SourceHeader}, chinese},
		{"the meta beats the bytes", `<meta charset="GBK">` + gbk, "text/html", Result{Name: "gbk", Source: SourceMeta}, chinese},
		{"an http-equiv meta", `<META content='text/html; charset=gbk' http-equiv=Content-Type>` + gbk, "", Result{Name: "gbk", Source: SourceMeta}, chinese},
		{"a meta behind 1024 bytes", "<title>" + strings.Repeat("x", 3000) + "</title><meta charset=gbk>" + gbk, "", Result{Name: "gbk", Source: SourceMeta}, chinese},
		{"a meta in a comment is none", "<!-- <meta charset=koi8-r> --><meta charset=gbk>" + gbk, "", Result{Name: "gbk", Source: SourceMeta}, chinese},
		{"a meta in a script is none", "<script>'<meta charset=koi8-r>'</script><meta charset=gbk>" + gbk, "", Result{Name: "gbk", Source: SourceMeta}, chinese},
		{"an XML declaration", `<?xml version="1.0" encoding="windows-1251"?><p>` + in(t, charmap.Windows1251, russian), "", Result{Name: "windows-1251", Source: SourceMeta}, russian},
		{"a meta that says UTF-16 means UTF-8", `<meta charset=utf-16>` + chinese, "", Result{Name: "utf-8", Source: SourceMeta}, chinese},
		{"a header that the bytes contradict", gbk, "text/html; charset=utf-8", Result{Name: "gb18030", Source: SourceDetected, Overruled: "utf-8"}, chinese},
		{"UTF-8 under another label", chinese, "text/html; charset=iso-8859-1", Result{Name: "utf-8", Source: SourceBytes, Overruled: "windows-1252"}, chinese},
		{"the meta is right where the header is wrong", `<meta charset=gbk>` + gbk, "text/html; charset=utf-8", Result{Name: "gbk", Source: SourceMeta, Overruled: "utf-8"}, chinese},
		{"a cut character keeps the encoding", chinese[:len(chinese)-1], "text/html; charset=utf-8", Result{Name: "utf-8", Source: SourceHeader}, chinese[:len(chinese)-3]},
		{"an unknown label is none", chinese, "text/html; charset=klingon", Result{Name: "utf-8", Source: SourceBytes}, chinese},
		{"plain ASCII", "<p>hello", "", Result{Name: "utf-8", Source: SourceBytes}, "hello"},
		{"nothing at all", "", "", Result{Name: "utf-8", Source: SourceBytes}, ""},
		{"two bytes outside ASCII are Western", "<p>caf\xe9 cr\xe8me", "", Result{Name: "windows-1252", Source: SourceDefault}, "café crème"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, got := ToUTF8([]byte(tt.body), tt.header)
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			if !strings.Contains(string(text), tt.text) || !utf8.Valid(text) || strings.HasPrefix(string(text), "\ufeff") {
				t.Errorf("text %q", text)
			}
		})
	}
}

func TestUndeclaredPagesAreToldByTheirBytes(t *testing.T) {
	tests := []struct {
		name string
		enc  encoding.Encoding
		text string
		want []string
	}{
		{"Chinese in GBK", simplifiedchinese.GBK, chinese, []string{"gb18030"}},
		{"Chinese in Big5", traditionalchinese.Big5, taiwan, []string{"big5"}},
		{"Japanese in Shift_JIS", japanese.ShiftJIS, japanesT, []string{"shift_jis"}},
		{"Japanese in EUC-JP", japanese.EUCJP, japanesT, []string{"euc-jp"}},
		{"Japanese in ISO-2022-JP", japanese.ISO2022JP, japanesT, []string{"iso-2022-jp"}},
		{"Russian in windows-1251", charmap.Windows1251, russian, []string{"windows-1251"}},
		{"Russian in KOI8-R", charmap.KOI8R, russian, []string{"koi8-r"}},
		{"Ukrainian in KOI8-U", charmap.KOI8U, "Сторінка не каже, в якому вона кодуванні, і судити можна лише з її байтів.", []string{"koi8-u"}},
		{"Thai", charmap.Windows874, "หน้าเว็บนี้ไม่ได้บอกว่าใช้รหัสอักขระใด จึงต้องตัดสินจากไบต์เอง", []string{"windows-874"}},
		{"Polish in windows-1250", charmap.Windows1250, strings.Repeat("Gdy strona nie mówi, w jakim jest kodowaniu, trzeba to poznać po bajtach: źdźbło, łąka, gęś i żółw. ", 3), []string{"windows-1250"}},
		{"Czech in ISO-8859-2", charmap.ISO8859_2, strings.Repeat("Stránka neříká, v jakém je kódování, takže se to musí poznat z bajtů: šťáva, žluťoučký kůň. ", 3), []string{"iso-8859-2"}},
		{"UTF-16 without a mark", unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "plain text of the West", []string{"utf-16le"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			page := in(t, tt.enc, "<!doctype html><html><body><div class=\"main\"><p>"+tt.text+"</p></div></body></html>")
			text, got := ToUTF8([]byte(page), "")
			if !strings.Contains(string(text), tt.text) {
				t.Errorf("read as %s: %q", got.Name, text)
			}
			if got.Name != tt.want[0] {
				t.Errorf("%s, want %s", got.Name, tt.want)
			}
		})
	}
}

func FuzzToUTF8(f *testing.F) {
	f.Add([]byte(`<meta charset=gbk>`+chinese), "text/html; charset=utf-8")
	f.Add([]byte("\xff\xfe<\x00"), "")
	f.Add([]byte("\x1b$B"), `text/html;charset="`)
	f.Add([]byte("<?xml version='1.0' encoding='utf-16'?>"), "charset=charset=")
	f.Fuzz(func(t *testing.T, body []byte, header string) {
		text, res := ToUTF8(body, header)
		if !utf8.Valid(text) {
			t.Errorf("%s: not UTF-8", res.Name)
		}
		if lookup(res.Name) != res.Name {
			t.Errorf("%q is no name of the standard", res.Name)
		}
		if len(text) > 4*len(body)+16 {
			t.Errorf("%d bytes became %d", len(body), len(text))
		}
	})
}
