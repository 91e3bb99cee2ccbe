package suite

import (
	"errors"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
)

const (
	// Reasons of errors that come from where records are kept.
	reasonStorageAway = "STORAGE_UNAVAILABLE"
	reasonStorageFull = "STORAGE_FULL"

	storageAwayRetry = 2 * time.Second
	storageFullRetry = 30 * time.Second
)

// storageTrouble is what callers are told while records cannot be read or
// written; nil for every other error. What is going on waits and is not lost.
func storageTrouble(err error) *rpcerr.Error {
	switch {
	case errors.Is(err, store.ErrUnknownCommit):
		return rpcerr.New(codes.Unavailable, reasonStorageAway,
			"The database broke off while it stored this, which may be stored or not. Look before you send it again, or send it with the same Idempotency-Key.").
			WithRetry(storageAwayRetry)
	case errors.Is(err, store.ErrDiskFull):
		return rpcerr.New(codes.Unavailable, reasonStorageFull,
			"The database has no room left, so nothing can be stored. Its operator must make some.").WithRetry(storageFullRetry)
	case store.IsUnavailable(err):
		return rpcerr.New(codes.Unavailable, reasonStorageAway,
			"The database cannot be reached just now. Try again in a moment.").WithRetry(storageAwayRetry)
	case errors.Is(err, blob.ErrUnavailable):
		return rpcerr.New(codes.Unavailable, reasonStorageAway,
			"The store of long results and files cannot be reached just now, or has no room. Try again in a moment.").WithRetry(storageAwayRetry)
	}
	return nil
}
