package doctor

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// minFiles is how many open files a server with some hundred readers needs.
const minFiles = 1024

func system(version string) func(context.Context) []Finding {
	return func(context.Context) []Finding {
		about := fmt.Sprintf("nanoclaw %s, %s, %s/%s, %d processors", version, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
		var files unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err == nil && files.Cur < minFiles {
			return warning("raise it: ulimit -n 65536, or LimitNOFILE of the service", "%s; at most %d open files, each connection needs one", about, files.Cur)
		}
		return ok("%s", about)
	}
}

// laterFeatures tells what a machine lacks for features that this version does
// not have yet.
func laterFeatures(context.Context) []Finding {
	var all []Finding
	for _, f := range []struct {
		check, use string
		programs   []string
	}{
		{"browser", "to read pages that need scripts", []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"}},
	} {
		found := Finding{Check: f.check, Level: Info, Message: strings.Join(f.programs, ", ") + " not found; a later version needs it " + f.use + ", this one does not"}
		for _, name := range f.programs {
			if path, err := exec.LookPath(name); err == nil {
				found.Message = path + " is there; this version does not use it yet"
				break
			}
		}
		all = append(all, found)
	}
	return all
}
