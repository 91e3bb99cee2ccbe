// Package blobtest is the conformance suite of blob.Bucket: every kind of store
// runs it.
package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
)

// Run checks a kind of store. open answers a new, empty bucket; Run closes it.
func Run(t *testing.T, open func(t *testing.T) blob.Bucket) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, blob.Bucket)
	}{
		{"what is put is got, byte by byte", roundTrip},
		{"a second put replaces the first", replace},
		{"ranges", ranges},
		{"what is not there", missing},
		{"keys that are refused", badKeys},
		{"keys that are odd but fine", oddKeys},
		{"a call whose ctx has ended changes nothing", cancelled},
		{"readers see whole blobs while writers replace them", concurrent},
	} {
		t.Run(test.name, func(t *testing.T) {
			bucket := open(t)
			defer func() {
				if err := bucket.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			}()
			test.run(t, bucket)
		})
	}
}

func put(t *testing.T, b blob.Bucket, key string, data []byte) {
	t.Helper()
	if err := b.Put(context.Background(), key, data, ""); err != nil {
		t.Fatalf("put %q: %v", key, err)
	}
}

func want(t *testing.T, b blob.Bucket, key string, data []byte) {
	t.Helper()
	got, err := b.Get(context.Background(), key)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("get %q = %d bytes, %v; want %d bytes", key, len(got), err, len(data))
	}
}

func roundTrip(t *testing.T, b blob.Bucket) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for name, data := range map[string][]byte{
		"empty": {}, "text": []byte("hello"), "bytes": every, "large": bytes.Repeat(every, 12<<10), // 3 MiB
	} {
		put(t, b, "round/"+name, data)
		want(t, b, "round/"+name, data)
	}
	if err := b.Put(context.Background(), "typed", []byte("<p>"), "text/html; charset=utf-8"); err != nil {
		t.Errorf("put with a content type: %v", err)
	}
	want(t, b, "typed", []byte("<p>"))
}

func replace(t *testing.T, b blob.Bucket) {
	put(t, b, "k", []byte("a long first version"))
	put(t, b, "k", []byte("second"))
	want(t, b, "k", []byte("second"))
}

func ranges(t *testing.T, b blob.Bucket) {
	put(t, b, "r", []byte("0123456789"))
	put(t, b, "none", nil)
	for _, tc := range []struct {
		key    string
		off, n int64
		want   string
		total  int64
	}{
		{"r", 0, 4, "0123", 10},
		{"r", 3, 4, "3456", 10},
		{"r", 8, 100, "89", 10},
		{"r", 3, -1, "3456789", 10},
		{"r", 0, -1, "0123456789", 10},
		{"r", 4, 0, "", 10},
		{"r", 10, 5, "", 10},
		{"r", 99, -1, "", 10},
		{"none", 0, -1, "", 0},
		{"none", 0, 7, "", 0},
	} {
		got, total, err := b.GetRange(context.Background(), tc.key, tc.off, tc.n)
		if err != nil || string(got) != tc.want || total != tc.total {
			t.Errorf("range %d+%d of %q = %q of %d, %v; want %q of %d", tc.off, tc.n, tc.key, got, total, err, tc.want, tc.total)
		}
	}
	if _, _, err := b.GetRange(context.Background(), "r", -1, 2); err == nil {
		t.Error("a negative offset must be an error")
	}
}

func missing(t *testing.T, b blob.Bucket) {
	ctx := context.Background()
	put(t, b, "dir/file", []byte("x"))
	put(t, b, "gone", []byte("x"))
	if err := b.Delete(ctx, "gone"); err != nil {
		t.Fatalf("delete: %v", err)
	}
	for _, key := range []string{"never", "gone", "dir", "dir/other", "dir/file2"} {
		if _, err := b.Get(ctx, key); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("get %q: %v, want ErrNotFound", key, err)
		}
		if _, _, err := b.GetRange(ctx, key, 0, 1); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("range of %q: %v, want ErrNotFound", key, err)
		}
	}
	for _, key := range []string{"never", "gone", "dir/other"} {
		if err := b.Delete(ctx, key); err != nil {
			t.Errorf("delete %q: %v, want none", key, err)
		}
	}
	want(t, b, "dir/file", []byte("x"))
}

func badKeys(t *testing.T, b blob.Bucket) {
	ctx := context.Background()
	for _, key := range []string{
		"", "/", "/etc/passwd", "a/", "a//b", ".", "..", "../a", "a/../b", "a/..", "./a", `a\b`, `..\a`, "a\x00b", "a\nb",
		"\xff", "a.attrs", strings.Repeat("x", 201), strings.Repeat("x/", 300) + "x",
	} {
		_, getErr := b.Get(ctx, key)
		_, _, rangeErr := b.GetRange(ctx, key, 0, 1)
		for doing, err := range map[string]error{
			"put": b.Put(ctx, key, nil, ""), "get": getErr, "range": rangeErr, "delete": b.Delete(ctx, key),
		} {
			if !errors.Is(err, blob.ErrInvalidKey) {
				t.Errorf("%s %q: %v, want ErrInvalidKey", doing, key, err)
			}
		}
	}
}

func oddKeys(t *testing.T, b blob.Bucket) {
	keys := []string{
		"a", "A", "..a", "a..", "...", "sp ace", "ünï/文字", "%2e%2e/x", "?q=1#f", "crawl/01ARZ3NDEKTSV4RRFFQ69G5FAV/" + strings.Repeat("9f", 32),
		"'\"&<>|*:", strings.Repeat("x", 200), "a__0x2f__b",
	}
	for i, key := range keys {
		put(t, b, key, []byte(fmt.Sprint(i)))
	}
	for i, key := range keys {
		want(t, b, key, []byte(fmt.Sprint(i)))
	}
	for _, key := range keys {
		if err := b.Delete(context.Background(), key); err != nil {
			t.Errorf("delete %q: %v", key, err)
		}
	}
}

func cancelled(t *testing.T, b blob.Bucket) {
	put(t, b, "k", []byte("before"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := b.Put(ctx, "k", []byte("after"), ""); err == nil {
		t.Error("put must fail")
	}
	want(t, b, "k", []byte("before"))
}

func concurrent(t *testing.T, b blob.Bucket) {
	const size, rounds = 64 << 10, 20
	version := func(c byte) []byte { return bytes.Repeat([]byte{c}, size) }
	put(t, b, "shared", version('a'))
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for range rounds {
				if err := b.Put(context.Background(), "shared", version(byte('a'+g)), ""); err != nil {
					t.Errorf("put: %v", err)
				}
			}
		})
		all.Go(func() {
			for range rounds {
				got, err := b.Get(context.Background(), "shared")
				if err != nil || len(got) != size || !bytes.Equal(got, version(got[0])) {
					t.Errorf("a reader saw a mixture or a part: %d bytes, %v", len(got), err)
				}
			}
		})
	}
	all.Wait()
}
