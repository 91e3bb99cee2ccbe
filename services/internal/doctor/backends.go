package doctor

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/redisconn"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/orchestrator"
)

func (x *examination) database(ctx context.Context) []Finding {
	got, err := orchestrator.CheckDatabase(ctx, x.cfg.DataDir, store.Config{Driver: x.cfg.Storage.Driver, DSN: x.cfg.Storage.DSN})
	if got.Timed {
		now := time.Now()
		x.clocks.add("the database", now.Add(got.Ahead), now)
	}
	switch {
	case errors.Is(err, store.ErrUnavailable):
		return failed("start it, or correct storage.dsn", "%v", err)
	case errors.Is(err, store.ErrDenied):
		return failed("correct user and password in storage.dsn, or give the user the rights that are named", "%v", err)
	case errors.Is(err, store.ErrOldServer):
		return failed("upgrade the server", "%v", err)
	case errors.Is(err, store.ErrNewerSchema):
		return failed("run the newer release of nanoclaw", "%v", err)
	case errors.Is(err, store.ErrCorrupt):
		return failed("restore the file from a backup, or move it away to start empty", "%v", err)
	case err != nil:
		return failed("correct storage.* in the configuration, or the rights of the file", "%v", err)
	case !got.Exists:
		return ok("%s (%s) is made at the first start", got.Where, got.Server)
	case got.Schema < got.Latest:
		return info("%s (%s) is at version %d of the schema; the next start brings it to %d", got.Where, got.Server, got.Schema, got.Latest)
	}
	return ok("%s (%s), version %d of the schema", got.Where, got.Server, got.Schema)
}

func (x *examination) cache(ctx context.Context) []Finding {
	if !x.cfg.Cache.Shared() {
		return ok("in the memory of each process")
	}
	conn, err := redisconn.Open(ctx, x.cfg.Cache.URL, slog.New(slog.DiscardHandler))
	if err != nil {
		return failed("correct cache.url", "%v", err)
	}
	defer conn.Close()
	began := time.Now()
	if err := conn.Check(ctx); err != nil {
		return failed("start Redis or correct cache.url; until then each process counts and caches for itself", "%v", err)
	}
	return ok("Redis answers in %d ms", time.Since(began).Milliseconds())
}

func (x *examination) blobs(ctx context.Context) []Finding {
	at := x.cfg.BlobLocation()
	const fix = "correct blobs.url, the AWS_* variables, or the rights of the folder or bucket"
	if !strings.Contains(at, "://") {
		if _, err := os.Stat(at); errors.Is(err, fs.ErrNotExist) {
			above := existing(at)
			if err := unix.Access(above, unix.W_OK|unix.X_OK); err != nil {
				return failed(fix, "%s is not there and cannot be made in %s: %v", at, above, err)
			}
			return ok("%s is made at the first start", at)
		}
	}
	bucket, err := blob.Open(ctx, at)
	if err != nil {
		return failed(fix, "%v", err)
	}
	defer bucket.Close()
	if err := blob.Check(ctx, bucket); err != nil {
		return failed(fix, "%s: %v", at, err)
	}
	return ok("%s was written, read and cleaned up", at)
}
