package fetcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
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

// FileInput is a file for ReadFile.
type FileInput struct {
	// Content is the file; at most 32 MiB of it may come.
	Content io.Reader
	// Name is its name, which decides what it is where the bytes do not.
	Name string
	// Base is the address that relative links are read against; it may be empty.
	Base string
	// ExtractType, Offset and MaxChars are as in FetchRequest; MaxChars 0 is the
	// default.
	ExtractType      string
	Offset, MaxChars int
}

// ReadFile reads a file exactly as Extract does, without a service. Its errors
// are gRPC statuses like those of Extract, or of reading Content.
func ReadFile(ctx context.Context, in FileInput) (*fetcherv1.ExtractResponse, error) {
	from, err := url.Parse(in.Base)
	if err != nil || in.Base != "" && !from.IsAbs() {
		return nil, fmt.Errorf("%q is no absolute address", in.Base)
	}
	if in.Base == "" {
		from = nil
	}
	body, err := io.ReadAll(io.LimitReader(in.Content, maxDocumentBytes+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxDocumentBytes {
		return nil, errDocumentTooLarge
	}
	q := query{extract: in.ExtractType, offset: in.Offset, maxChars: in.MaxChars}
	if q.maxChars == 0 {
		q.maxChars = defaultMaxChars
	}
	docs := newDocumentReader()
	out, err := extractDocument(ctx, docs, q, source{body: body, name: filepath.Base(in.Name), from: from, maxText: maxDocumentText})
	return out, errors.Join(err, docs.Close())
}
