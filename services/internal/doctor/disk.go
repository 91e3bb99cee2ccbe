package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
)

const (
	mebibyte = 1 << 20
	gibibyte = 1 << 30
	// A disk with less than lowSpace is worth a look, one with less than
	// fullSpace fails soon.
	lowSpace  = gibibyte
	fullSpace = 100 * mebibyte
	// othersMode are the rights of people who are neither owner nor group.
	othersMode = 0o007
)

func (x *examination) dataFolder(context.Context) []Finding {
	dir := x.cfg.DataDir
	const fix = "make it a folder that this user may write, or choose another with --data-dir"
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		above := existing(dir)
		if err := unix.Access(above, unix.W_OK|unix.X_OK); err != nil {
			return failed(fix, "%s is not there and cannot be made in %s: %v", dir, above, err)
		}
		return ok("%s is made at the first start", dir)
	case err != nil:
		return failed(fix, "%v", err)
	case !info.IsDir():
		return failed(fix, "%s is not a folder", dir)
	}
	if err := unix.Access(dir, unix.R_OK|unix.W_OK|unix.X_OK); err != nil {
		return failed(fix, "%s cannot be read and written: %v", dir, err)
	}
	holder, err := store.Holder(dir)
	if err != nil {
		return failed("give this user the right to read it, or move the folder to a local disk", "%v", err)
	}
	state := "no server runs on it"
	if holder != 0 {
		state = fmt.Sprintf("the server with pid %d runs on it", holder)
	}
	if info.Mode().Perm()&othersMode != 0 {
		return warning("chmod 700 "+dir, "%s, %s; other users of this machine can look into it (mode %04o)", dir, state, info.Mode().Perm())
	}
	return ok("%s, %s", dir, state)
}

// disk looks at the room where the data folder is or will be.
func (x *examination) disk(context.Context) []Finding {
	at := existing(x.cfg.DataDir)
	var st unix.Statfs_t
	if err := unix.Statfs(at, &st); err != nil {
		return failed("choose another data folder with --data-dir", "the free space of %s cannot be told: %v", at, err)
	}
	free := uint64(st.Bavail) * uint64(st.Bsize)
	const fix = "free some space, or move the data folder with --data-dir"
	switch {
	case free < fullSpace:
		return failed(fix, "%s left for the data folder: writes are about to fail", size(free))
	case free < lowSpace:
		return warning(fix, "%s left for the data folder", size(free))
	case st.Files > 0 && st.Ffree == 0:
		return failed("remove files, or move the data folder with --data-dir", "no file can be made where the data folder is: it has no inode left")
	}
	return ok("%s left for the data folder", size(free))
}

func size(bytes uint64) string {
	if bytes < gibibyte {
		return fmt.Sprintf("%d MiB", bytes/mebibyte)
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/gibibyte)
}

// existing is the nearest folder above a path, or itself, that is there.
func existing(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}
