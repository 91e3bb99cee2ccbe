package dirpage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestAFolderIsReadPageByPage(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for i := range 1500 { // more than one batch
		name := fmt.Sprintf("%x-%d", i*7919%1500, i)
		want = append(want, name)
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(want)
	for _, limit := range []int{1, 100, 1499, 1500, 3000} {
		var got []string
		after, more := "", true
		for more {
			if limit == 1 && len(got) == 20 { // enough of this one
				break
			}
			f, err := os.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			var page []string
			page, more, err = Read(t.Context(), f, after, limit)
			if err := errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
			if more && len(page) != limit {
				t.Fatalf("a page of %d names where %d fit and there are more", len(page), limit)
			}
			got = append(got, page...)
			after = page[len(page)-1]
		}
		if !slices.Equal(got, want[:len(got)]) || (limit > 1 && len(got) != len(want)) {
			t.Errorf("pages of %d: %d names, not the %d there are in order", limit, len(got), len(want))
		}
	}
}

func TestReadingEndsWithItsContext(t *testing.T) {
	f, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if names, more, err := Read(ctx, f, "", 10); len(names) > 0 || more || (err != nil && !errors.Is(err, context.Canceled)) {
		t.Errorf("%v %t %v", names, more, err)
	}
}
