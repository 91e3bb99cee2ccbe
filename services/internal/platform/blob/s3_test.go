package blob_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob/s3test"
)

func TestConfigValidate(t *testing.T) {
	for location, shared := range map[string]bool{
		"": false, "data/blobs": false, "file:///var/blobs": false, "s3://bucket": true,
		"s3://bucket?endpoint=http://127.0.0.1:7070&region=us-east-1&s3ForcePathStyle=true": true,
		"s3://bucket?region=eu-central-1&profile=nanoclaw&use_path_style=false":             true,
	} {
		cfg := blob.Config{URL: location}
		if err := cfg.Validate(); err != nil || cfg.Shared() != shared {
			t.Errorf("%q: shared %t, %v", location, cfg.Shared(), err)
		}
	}
	err := blob.Config{URL: "s3://key:secret@bucket"}.Validate()
	if err == nil || !strings.HasPrefix(err.Error(), "blobs.url: keys do not belong into the URL") {
		t.Errorf("err = %v", err)
	}
}

func TestS3WithoutKeysSaysWhichVariablesToSet(t *testing.T) {
	s3test.SetKeys(t, "", "")
	b := open(t, "s3://bucket?endpoint=http://127.0.0.1:1")
	defer b.Close()
	err := blob.Check(t.Context(), b)
	if err == nil || !strings.Contains(err.Error(), "no keys were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY") {
		t.Errorf("err = %v", err)
	}
}

func TestS3ThatIsNotThereFailsInTime(t *testing.T) {
	s3test.SetKeys(t, "key", "hunter2hunter2")
	b := open(t, "s3://bucket?endpoint=http://127.0.0.1:1") // nobody listens on port 1
	defer b.Close()
	start := time.Now()
	_, err := b.Get(t.Context(), "k")
	if !errors.Is(err, blob.ErrUnavailable) || errors.Is(err, blob.ErrNotFound) || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("err = %v", err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestWhetherAnS3IsAwayOrRefuses(t *testing.T) {
	s3test.SetKeys(t, "key", "secret")
	var all sync.WaitGroup // they wait between their attempts
	defer all.Wait()
	for _, tc := range []struct {
		name   string
		answer func(http.ResponseWriter)
		away   bool
	}{
		{"it has too much to do", func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, "<Error><Code>SlowDown</Code></Error>")
		}, true},
		{"a proxy says that it is not there", func(w http.ResponseWriter) { http.Error(w, "bad gateway", http.StatusBadGateway) }, true},
		{"too many requests", func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) }, true},
		{"it hangs up", func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, true},
		{"it refuses the keys", func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "<Error><Code>AccessDenied</Code></Error>")
		}, false},
		{"it knows no such bucket", func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, "<Error><Code>NoSuchBucket</Code></Error>")
		}, false},
	} {
		all.Go(func() {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { tc.answer(w) }))
			defer server.Close()
			b := open(t, "s3://bucket?endpoint="+server.URL)
			defer b.Close()
			for what, err := range map[string]error{"put": b.Put(t.Context(), "k", []byte("data"), ""), "get": getError(t.Context(), b)} {
				if err == nil || errors.Is(err, blob.ErrUnavailable) != tc.away {
					t.Errorf("%s: %s: %v", tc.name, what, err)
				}
			}
		})
	}
}

func TestS3ThatSaysNothingIsLeftWhenTheCallerLeaves(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	s3test.SetKeys(t, "key", "secret")
	b := open(t, "s3://bucket?endpoint=http://"+lis.Addr().String())
	defer b.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	for name, err := range map[string]error{
		"put": b.Put(ctx, "k", []byte("data"), ""), "get": getError(ctx, b), "delete": b.Delete(ctx, "k"),
	} {
		if errors.Is(err, blob.ErrUnavailable) {
			t.Errorf("%s: the caller left, and it is said that the store is away: %v", name, err)
		}
		if err == nil || errors.Is(err, blob.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
}

func getError(ctx context.Context, b blob.Bucket) error {
	_, err := b.Get(ctx, "k")
	return err
}

func TestCheckOfAFolder(t *testing.T) {
	b := open(t, t.TempDir())
	defer b.Close()
	if err := blob.Check(t.Context(), b); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := blob.Check(ctx, b); err == nil || !strings.Contains(err.Error(), "the blob store cannot be written") {
		t.Errorf("err = %v", err)
	}
}
