package blob_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob/blobtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, location string) blob.Bucket {
	t.Helper()
	b, err := blob.Open(context.Background(), location)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFolderConforms(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blob.Bucket { return open(t, filepath.Join(t.TempDir(), "new", "blobs")) })
}

func TestAFolderHoldsOnlyThePrivateBlobs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b", "blobs")
	b := open(t, "file://"+strings.ReplaceAll(dir, " ", "%20"))
	defer b.Close()
	if err := b.Put(context.Background(), "x/y", []byte("data"), "text/plain"); err != nil {
		t.Fatal(err)
	}
	var found []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: mode %v is open to others", path, info.Mode())
		}
		if !entry.IsDir() {
			found = append(found, path)
		}
		return nil
	})
	if err != nil || len(found) != 1 || found[0] != filepath.Join(dir, "x", "y") {
		t.Errorf("files = %q, %v", found, err)
	}
}

func TestAFailedPutLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	defer b.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := b.Put(ctx, "k", []byte("data"), ""); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left = %v, %v", left, err)
	}
}

func TestOpenErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, location, want string }{
		{"nothing", "", "the path of the folder is empty"},
		{"another store", "gs://key:secret@bucket", "blob store: gs:// is not supported; supported: a folder, file:// and s3://"},
		{"keys in the URL", "s3://key:secret@bucket", "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
		{"keys in the query", "s3://bucket?access_key=secret", "known are region, endpoint, profile and use_path_style"},
		{"keys in the endpoint", "s3://bucket?endpoint=http://key:secret@127.0.0.1", "endpoint in the S3 URL must be"},
		{"an endpoint without a scheme", "s3://bucket?endpoint=127.0.0.1:7070", "endpoint in the S3 URL must be"},
		{"a folder in a bucket", "s3://bucket/folder", "s3://bucket, without a folder in it"},
		{"no bucket", "s3://?region=x", "s3://bucket, without a folder in it"},
		{"a path style of another kind", "s3://bucket?use_path_style=yes", "use_path_style in the S3 URL must be true or false"},
		{"an S3 URL that is none", "s3://buc ket?endpoint=secret", "an S3 bucket is written s3://bucket"},
		{"a query that is none", "s3://bucket?region=%zz", "cannot be read"},
		{"a relative file URL", "file://data/blobs", "file:///absolute/folder"},
		{"a file", file, "not a directory"},
		{"below a file", filepath.Join(file, "x"), "not a directory"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := blob.Open(context.Background(), tc.location)
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("err = %v, want it to contain %q", err, tc.want)
			}
		})
	}
}

func FuzzKeysStayInTheFolder(f *testing.F) {
	for _, seed := range []string{"a/b", "../x", "..", "a/../../x", "/x", "a//b", "x\x00y", "....", "__0x2f__/.."} {
		f.Add(seed)
	}
	parent := f.TempDir()
	bucket, err := blob.Open(context.Background(), filepath.Join(parent, "blobs"))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = bucket.Close() })
	f.Fuzz(func(t *testing.T, key string) {
		ctx := context.Background()
		if err := bucket.Put(ctx, key, []byte(key), ""); err != nil {
			return
		}
		if got, err := bucket.Get(ctx, key); err != nil || string(got) != key {
			t.Errorf("get %q = %q, %v", key, got, err)
		}
		if entries, err := os.ReadDir(parent); err != nil || len(entries) != 1 {
			t.Errorf("%q wrote outside: %v, %v", key, entries, err)
		}
		if err := bucket.Delete(ctx, key); err != nil {
			t.Errorf("delete %q: %v", key, err)
		}
	})
}
