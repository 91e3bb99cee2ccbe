package specimen

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWhatBelongsToThePersonIsTakenOut(t *testing.T) {
	cases := []struct{ name, in, want string }{
		{"the query in the title", `<title>secret "plans" - Search</title>`, `<title>[query] - Search</title>`},
		{"the query escaped", `<input value="secret &#34;plans&#34;">`, `<input value="[query]">`},
		{"the query in an address", `/search?q=secret+%22plans%22&x`, `/search?q=[query]&x`},
		{"the query in an address with blanks", `/search?q=secret%20%22plans%22&x`, `/search?q=[query]&x`},
		{"the query in a script", `var q="secret \"plans\"";`, `var q="[query]";`},
		{"the query in other letters", `SECRET "Plans"`, `[query]`},
		{"a word of it alone", `a secret of ours`, `a [query] of ours`},
		{"our address", `Your IP: 203.0.113.7.`, `Your IP: [address].`},
		{"our address of version 6", `IP 2001:db8:0:1::7`, `IP [address]`},
		{"an address of mail", `mail ann.b@example.com now`, `mail [mail] now`},
		{"a hidden field", `<input type="hidden" name="csrf" value="abc"><input type=text value="abc">`, `<input type="hidden" name="csrf" value="[value]"><input type=text value="abc">`},
		{"a token", `data-sid="A1b2C3d4E5f6A1b2C3d4E5f6A1b2"`, `data-sid="[token]"`},
		{"the layout stays", `<ol id="b_results"><li class="b_algo b_vtl_deeplinks">`, `<ol id="b_results"><li class="b_algo b_vtl_deeplinks">`},
		{"a style stays", `a::before{} li:hover::after`, `a::before{} li:hover::after`},
		{"times stay", `at 12:30:15`, `at 12:30:15`},
		{"versions stay", `v=1.2.3`, `v=1.2.3`},
	}
	for _, c := range cases {
		got, cut := redact([]byte(c.in), ` secret  "plans" `)
		if string(got) != c.want || cut {
			t.Errorf("%s: %q, want %q (cut %t)", c.name, got, c.want, cut)
		}
	}
}

func TestAQueryInAnyScriptIsTakenOutInAnyForm(t *testing.T) {
	const query = "如何申请😀签证 Zürich"
	for name, in := range map[string]string{
		"as it is":                       query,
		"in an address":                  "%E5%A6%82%E4%BD%95%E7%94%B3%E8%AF%B7%F0%9F%98%80%E7%AD%BE%E8%AF%81+Z%C3%BCrich",
		"in an address in small letters": "%e5%a6%82%e4%bd%95%e7%94%b3%e8%af%b7%f0%9f%98%80%e7%ad%be%e8%af%81+z%c3%bcrich",
		"in an address in an address":    "%25E5%25A6%2582%25E4%25BD%2595%25E7%2594%25B3%25E8%25AF%25B7%25F0%259F%2598%2580%25E7%25AD%25BE%25E8%25AF%2581%2BZ%25C3%25BCrich",
		"in a script":                    `\u5982\u4f55\u7533\u8bf7\ud83d\ude00\u7b7e\u8bc1 Z\u00fcrich`,
		"in entities":                    "&#22914;&#20309;&#30003;&#35831;&#128512;&#31614;&#35777; Z&#252;rich",
		"in entities of the other kind":  "&#x5982;&#x4F55;&#x7533;&#x8BF7;&#x1F600;&#x7B7E;&#x8BC1; Z&#xFC;rich",
		"a word of it":                   `Z\u00fcrich`,
	} {
		if got, _ := redact([]byte("<b>"+in+"</b>"), query); string(got) != "<b>[query]</b>" {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, mail := range []string{"ann@example.com", "ann%40example.com", "ann&#64;example.com", "ann&#x40;example.com", `ann\u0040example.com`, `ann\x40example.com`} {
		if got, _ := redact([]byte(mail), query); string(got) != "[mail]" {
			t.Errorf("%s: %s", mail, got)
		}
	}
}

func TestTheFirst64KiBAreKept(t *testing.T) {
	if MaxBytes != 65536 {
		t.Errorf("%d bytes are kept", MaxBytes)
	}
	for _, n := range []int{MaxBytes, MaxBytes + 1, 5 * MaxBytes} {
		got, cut := redact([]byte(strings.Repeat("茶", n/3)), "tea")
		if len(got) > MaxBytes || len(got) < min(n, MaxBytes)-3 || cut != (n/3*3 > MaxBytes) || strings.ContainsRune(string(got), '\uFFFD') {
			t.Errorf("%d of %d bytes, cut %t", len(got), n, cut)
		}
	}
}

func TestAnAnswerIsKeptInTheFormThatInspectReads(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "unread")
	at := time.Date(2025, 12, 1, 12, 0, 0, 0, time.UTC)
	file, err := New(dir).Keep("bing", adapter.Response{
		Status: 200, Header: http.Header{"Content-Type": {"text/html"}, "Set-Cookie": {"id=1"}}, Body: []byte("<p>secret"), ReceivedAt: at,
	}, "secret", "no list of results")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got kept
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if got.Provider != "bing" || got.Query != "[query]" || got.Status != 200 || got.Body != "<p>[query]" || got.Detail != "no list of results" || got.Headers["Content-Type"] != "text/html" || len(got.Headers) != 1 {
		t.Errorf("kept %s", raw)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v (%v)", info.Mode(), err)
	}
}

func TestOldAnswersGo(t *testing.T) {
	dir := t.TempDir()
	k := New(dir)
	at := time.Date(2025, 12, 1, 12, 0, 0, 0, time.UTC)
	for i := range MaxKept + 5 {
		for _, provider := range []string{"bing", "baidu"} {
			if _, err := k.Keep(provider, adapter.Response{Body: fmt.Append(nil, i), ReceivedAt: at.Add(time.Duration(i) * time.Second)}, "q", ""); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, provider := range []string{"bing", "baidu"} {
		files, err := filepath.Glob(filepath.Join(dir, provider, "*"))
		if err != nil || len(files) != MaxKept {
			t.Fatalf("%d files (%v)", len(files), err)
		}
		if oldest := filepath.Base(files[0]); !strings.HasPrefix(oldest, "20251201T120005.000Z-") {
			t.Errorf("the oldest is %s", oldest)
		}
	}
}

func TestAProviderIsNoPath(t *testing.T) {
	for _, provider := range []string{"", "../x", "a/b", "A", strings.Repeat("a", 65)} {
		if file, err := New(t.TempDir()).Keep(provider, adapter.Response{}, "q", ""); err == nil {
			t.Errorf("%q is kept in %s", provider, file)
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("<p>secret plans</p>", "secret plans")
	f.Add("0", "\xff")
	f.Add(`<input type=hidden value=x> ::1 a@b.cc`, `"a+b" & c`)
	f.Fuzz(func(t *testing.T, body, query string) {
		got, _ := redact([]byte(body), query)
		if len(got) > MaxBytes {
			t.Fatalf("%d bytes", len(got))
		}
	})
}
