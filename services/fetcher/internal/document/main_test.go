package document

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/contenttype"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// budget is more text than any test document has.
const budget = 8 << 20

// newReader is a reader that keeps the compiled PDF reader between test runs,
// where the machine has a place for that.
func newReader(t testing.TB) *Reader {
	t.Helper()
	var cfg Config
	if dir, err := os.UserCacheDir(); err == nil {
		cfg.CacheDir = filepath.Join(dir, "nanoclaw", "pdf")
	}
	r := NewReader(cfg)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func request(body, mediaType string) Request {
	in := Request{Body: []byte(body), Type: mediaType, MaxText: budget}
	if !strings.HasPrefix(mediaType, "image/") && mediaType != contenttype.PDF {
		in.Text = body
	}
	return in
}

// read is a document that must be readable.
func read(t *testing.T, in Request) *Document {
	t.Helper()
	d, err := newReader(t).Read(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// refusal is why a document is not read.
func refusal(t *testing.T, in Request) *Error {
	t.Helper()
	d, err := newReader(t).Read(context.Background(), in)
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("read %+v, %v", d, err)
	}
	return e
}

// warned says whether a warning begins with name.
func warned(d *Document, name string) bool {
	for _, w := range d.Warnings {
		if strings.HasPrefix(w, name+":") {
			return true
		}
	}
	return false
}

func mustURL(t *testing.T, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
