//go:build backends

package blob_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob/blobtest"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob/s3test"
)

func TestS3Conforms(t *testing.T) {
	server := s3test.Start(t)
	blobtest.Run(t, func(t *testing.T) blob.Bucket { return open(t, server.Bucket(t)) })
}

func TestS3KeepsWhatIsLargerThanOnePart(t *testing.T) {
	b := open(t, s3test.Start(t).Bucket(t))
	defer b.Close()
	data := make([]byte, 20<<20)
	for i := range data {
		data[i] = byte(i * 31 >> 3)
	}
	if err := b.Put(t.Context(), "large", data, ""); err != nil {
		t.Fatal(err)
	}
	got, err := b.Get(t.Context(), "large")
	if err != nil || string(got) != string(data) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	const off, n = 9<<20 - 3, 7
	part, total, err := b.GetRange(t.Context(), "large", off, n)
	if err != nil || string(part) != string(data[off:off+n]) || total != int64(len(data)) {
		t.Errorf("range = %x of %d, %v", part, total, err)
	}
}

func TestTwoProcessesSeeTheSameBlobs(t *testing.T) {
	location := s3test.Start(t).Bucket(t)
	a, b := open(t, location), open(t, location)
	defer a.Close()
	defer b.Close()
	if err := a.Put(t.Context(), "crawl/1/body", []byte("shared"), "text/html"); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Get(t.Context(), "crawl/1/body"); err != nil || string(got) != "shared" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestCheckOfS3(t *testing.T) {
	server := s3test.Start(t)
	good := open(t, server.Bucket(t))
	defer good.Close()
	if err := blob.Check(t.Context(), good); err != nil {
		t.Errorf("a good bucket: %v", err)
	}
	check := func(name, location, want string) {
		b := open(t, location)
		defer b.Close()
		err := blob.Check(t.Context(), b)
		if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, blob.ErrNotFound) || strings.Contains(err.Error(), server.Secret) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if _, err := b.Get(t.Context(), "k"); err == nil || errors.Is(err, blob.ErrNotFound) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: get: %v", name, err)
		}
	}
	check("no such bucket", server.Location("nosuchbucket"), "the bucket is not there: create it, or correct blobs.url")
	location := server.Bucket(t)
	s3test.SetKeys(t, "nobody", server.Secret)
	check("an unknown key", location, "the keys are refused")
	s3test.SetKeys(t, server.Key, "another secret")
	check("a wrong secret", location, "the keys are refused")
}

func BenchmarkS3(b *testing.B) {
	server := s3test.Start(b)
	bucket, err := blob.Open(b.Context(), server.Bucket(b))
	if err != nil {
		b.Fatal(err)
	}
	defer bucket.Close()
	data := make([]byte, 64<<10)
	b.SetBytes(2 * int64(len(data)))
	for b.Loop() {
		if err := bucket.Put(b.Context(), "k", data, ""); err != nil {
			b.Fatal(err)
		}
		if _, err := bucket.Get(b.Context(), "k"); err != nil {
			b.Fatal(err)
		}
	}
}
