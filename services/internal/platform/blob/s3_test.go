package blob_test

import (
	"context"
	"errors"
	"net"
	"strings"
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
	if err == nil || errors.Is(err, blob.ErrNotFound) || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("err = %v", err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %s", took)
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
