package blob

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
)

// Check tells whether a bucket can be used: it writes, reads and deletes a small
// blob of its own. The error says which of them failed and what to do.
func Check(ctx context.Context, b Bucket) error {
	key, want := "probe-"+rand.Text(), []byte("written to see whether this store works")
	if err := b.Put(ctx, key, want, "text/plain"); err != nil {
		return fmt.Errorf("the blob store cannot be written: %w", err)
	}
	got, readErr := b.Get(ctx, key)
	if readErr == nil && !bytes.Equal(got, want) {
		readErr = errors.New("it gave back other bytes than were put")
	}
	if readErr != nil {
		readErr = fmt.Errorf("the blob store cannot be read: %w", readErr)
	}
	deleteErr := b.Delete(ctx, key)
	if deleteErr != nil {
		deleteErr = fmt.Errorf("the blob store deletes nothing, %q stays in it: %w", key, deleteErr)
	}
	return errors.Join(readErr, deleteErr)
}
