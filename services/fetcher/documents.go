package fetcher

import (
	"os"
	"path/filepath"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/document"
)

// newDocumentReader keeps the compiled PDF reader among the caches of the user
// that runs the process; where there is no such place, it is compiled in memory.
func newDocumentReader() *document.Reader {
	var cfg document.Config
	if dir, err := os.UserCacheDir(); err == nil {
		cfg.CacheDir = filepath.Join(dir, "nanoclaw", "pdf")
	}
	return document.NewReader(cfg)
}
