package transport

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"go.uber.org/goleak"
	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func client(t *testing.T) *Client {
	t.Helper()
	guard, err := netguard.New(netguard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	c := New(guard)
	t.Cleanup(c.Close)
	return c
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func get(address string) adapter.Request {
	return adapter.Request{Method: http.MethodGet, URL: address, Header: http.Header{"Accept-Encoding": {"gzip"}}}
}

func TestTheRequestGoesOutAsPlanned(t *testing.T) {
	var got *http.Request
	var body []byte
	address := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
	})
	_, err := client(t).Do(t.Context(), adapter.Request{
		Method: http.MethodPost, URL: address + "/html/?a=1&&b", Body: []byte("q=tea"),
		Header: http.Header{"User-Agent": {"ours"}, "Cookie": {"kl=wt-wt"}},
	}, ByOperator)
	if err != nil {
		t.Fatal(err)
	}
	if got.RequestURI != "/html/?a=1&&b" || got.UserAgent() != "ours" || string(body) != "q=tea" || got.ContentLength != 5 {
		t.Errorf("got %s by %q with %q", got.RequestURI, got.UserAgent(), body)
	}
	if v := got.Header.Get("Accept-Encoding"); v != "" {
		t.Errorf("a header was added: Accept-Encoding: %s", v)
	}
}

func TestContentCodingsAreUndone(t *testing.T) {
	const page = "<p>茶 tea</p>"
	pack := func(make func(io.Writer) io.WriteCloser) []byte {
		var b bytes.Buffer
		w := make(&b)
		_, _ = io.WriteString(w, page)
		_ = w.Close()
		return b.Bytes()
	}
	raw := func(w io.Writer) io.WriteCloser { f, _ := flate.NewWriter(w, 5); return f }
	cases := []struct {
		name, coding string
		body         []byte
	}{
		{"none", "", []byte(page)},
		{"gzip", "gzip", pack(func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })},
		{"deflate as zlib", "deflate", pack(func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) })},
		{"deflate bare", "deflate", pack(raw)},
		{"brotli", "br", pack(func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) })},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if c.coding != "" {
					w.Header().Set("Content-Encoding", c.coding)
				}
				_, _ = w.Write(c.body)
			})
			r, err := client(t).Do(t.Context(), get(address), ByOperator)
			if err != nil || string(r.Body) != page {
				t.Errorf("got %q (%v)", r.Body, err)
			}
		})
	}
}

func TestABombIsCutAtTheCap(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		chunk := bytes.Repeat([]byte("a"), 1<<20)
		for range 64 {
			_, _ = z.Write(chunk)
		}
		_ = z.Close()
	})
	r, err := client(t).Do(t.Context(), get(address), ByOperator)
	if err != nil || len(r.Body) != MaxBodyBytes || !r.Truncated {
		t.Errorf("%d bytes, truncated %t (%v)", len(r.Body), r.Truncated, err)
	}
}

func TestWhatComesOfAFailure(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	silent := serve(t, func(http.ResponseWriter, *http.Request) { <-release })
	slow := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<p>")
		w.(http.Flusher).Flush()
		<-release
	})
	garbled := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, "this is no gzip")
	})
	strange := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "snappy")
		_, _ = io.WriteString(w, "x")
	})
	cut := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, "half")
	})
	private := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
	})
	itself := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/again", http.StatusFound)
		}
	})
	cases := []struct {
		name    string
		address string
		trust   Trust
		timeout time.Duration
		want    outcome.Code
		detail  string
	}{
		{"an engine that says nothing", silent, ByOperator, 50 * time.Millisecond, outcome.Timeout, "no whole answer in time"},
		{"an engine that stops in the middle", slow, ByOperator, 50 * time.Millisecond, outcome.Timeout, "no whole answer in time"},
		{"a body that is no gzip", garbled, ByOperator, time.Minute, outcome.Transport, "the answer cannot be decompressed"},
		{"an unknown coding", strange, ByOperator, time.Minute, outcome.Transport, "the answer cannot be decompressed"},
		{"a cut body", cut, ByOperator, time.Minute, outcome.Transport, "the connection broke"},
		{"nobody listens", "http://127.0.0.1:1/", ByOperator, time.Minute, outcome.Transport, "no connection"},
		{"a private address that is built in", silent, Guarded, time.Minute, outcome.Transport, "address refused: loopback"},
		{"a redirect to a private address", private, ByOperator, time.Minute, outcome.Transport, "address refused: metadata"},
		{"a redirect of an operator's private address to itself", itself, ByOperator, time.Minute, outcome.Transport, "address refused: loopback"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), c.timeout)
			defer cancel()
			_, err := client(t).Do(ctx, get(c.address+"?q=secret"), c.trust)
			if err == nil {
				t.Fatal("no error")
			}
			if o := Failure(err); o.Code != c.want || o.Detail != c.detail {
				t.Errorf("outcome %s (%s), want %s (%s); error: %v", o.Code, o.Detail, c.want, c.detail, err)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error tells the query: %v", err)
			}
		})
	}
}

func TestACancelledCallIsNoFailureOfTheEngine(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	address := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	_, err := client(t).Do(ctx, get(address), ByOperator)
	if o := Failure(err); o.Code != outcome.Cancelled {
		t.Errorf("outcome %s", o.Code)
	}
}

func TestARedirectAwayFromTheEngineIsTheAnswer(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://captcha.example.com/?back="+url.QueryEscape(r.URL.String()), http.StatusFound)
	})
	r, err := client(t).Do(t.Context(), get(address), ByOperator)
	if err != nil || r.Status != http.StatusFound || !strings.HasPrefix(r.Header.Get("Location"), "https://captcha.example.com/") {
		t.Errorf("status %d to %q (%v)", r.Status, r.Header.Get("Location"), err)
	}
}

func TestARedirectWithinAnAllowedAddressIsFollowed(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/results", http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, "there")
	})
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	guard, err := netguard.New(netguard.Config{Allow: []string{net.JoinHostPort(u.Hostname(), u.Port())}})
	if err != nil {
		t.Fatal(err)
	}
	c := New(guard)
	defer c.Close()
	r, err := c.Do(t.Context(), get(address+"/"), ByOperator)
	if err != nil || string(r.Body) != "there" {
		t.Errorf("got %q (%v)", r.Body, err)
	}
}

func TestUTF8(t *testing.T) {
	const text = `<meta charset="gbk"><title>杭州龙井茶的产地</title>`
	gbk, err := simplifiedchinese.GBK.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	const plain = "杭州龙井茶的产地与分级：西湖产区的春茶在清明节以前采摘，按照芽叶的大小和采摘的时间分成不同的等级，价格也不一样。"
	bare, err := simplifiedchinese.GBK.NewEncoder().String(plain)
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct{ name, body, contentType, want string }{
		{"as it is", "茶", "text/html; charset=utf-8", "茶"},
		{"valid whatever is declared", "茶", "text/html; charset=iso-8859-1", "茶"},
		{"a mark goes", "\xef\xbb\xbf茶", "", "茶"},
		{"declared in the page", gbk, "text/html", text},
		{"declared in the header", bare, "text/html; charset=gb2312", plain},
		{"not declared", bare, "", plain},
		{"declared wrongly", bare, "text/html; charset=utf-8", plain},
		{"cut in its last character", "tea \xe8\x8c", "", "tea \xe8\x8c"},
		{"one bad byte in much text", strings.Repeat("茶", 200) + "\xff", "", strings.Repeat("茶", 200) + "\uFFFD"},
		{"a western declaration in the page", "<meta charset=iso-8859-1>Tomaten im K\xfcbel", "text/html", "<meta charset=iso-8859-1>Tomaten im Kübel"},
		{"a Japanese one", "<meta charset=shift_jis>\x8e\x86\x82\xcc\x90\xdc\x82\xe8\x95\xfb", "text/html", "<meta charset=shift_jis>紙の折り方"},
		{"a Korean one", "<meta charset=euc-kr>\xc2\xf7 \xc0\xe7\xb9\xe8", "text/html", "<meta charset=euc-kr>차 재배"},
		{"a Russian one", "<meta charset=windows-1251>\xd7\xe0\xe9", "text/html", "<meta charset=windows-1251>Чай"},
		{"the header before the page", "<meta charset=utf-8>caf\xe9 au lait", "text/html; charset=iso-8859-1", "<meta charset=utf-8>café au lait"},
		{"latin", "caf\xe9 au lait", "text/html; charset=iso-8859-1", "café au lait"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := string(UTF8([]byte(c.body), c.contentType)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("x"), "gzip", "text/html; charset=gbk")
	f.Add([]byte("\x78\x9c\x03\x00"), "deflate", "")
	f.Fuzz(func(t *testing.T, body []byte, coding, contentType string) {
		data, _, err := readBody(bytes.NewReader(body), coding)
		if err != nil {
			return
		}
		if len(data) > MaxBodyBytes {
			t.Fatal("over the cap")
		}
		UTF8(data, contentType)
	})
}
