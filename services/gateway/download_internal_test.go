package gateway

import (
	"mime"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzDisposition(f *testing.F) {
	for _, name := range []string{"a.txt", "国", `"`, "a\r\nb", "%", "\\", "", "\u202e"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if !utf8.ValidString(name) {
			return // no message carries one
		}
		text := disposition("attachment", name)
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Fatalf("%q is sent as %q", name, text)
		}
		kind, params, err := mime.ParseMediaType(text)
		if err != nil || kind != "attachment" || params["filename"] != name {
			t.Fatalf("%q is sent as %q, which is read as %q, %v", name, text, params["filename"], err)
		}
	})
}
