package workspace

import (
	"fmt"
	"io"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/filetype"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/textpage"
)

// ReadText reads at most maxChars characters of an open file of text, from the
// byte offset on. A file that is not text is refused.
func ReadText(f io.ReaderAt, e Entry, offset int64, maxChars int) (textpage.Page, error) {
	if !filetype.IsText(e.MIME) {
		return textpage.Page{}, refusal(ReasonNotText,
			"%q is not text but %s of %s: read it with a program, or download it", e.Path, e.MIME, sizeText(e.Size))
	}
	if offset > e.Size {
		return textpage.Page{}, rpcerr.InvalidArgument("offset", fmt.Sprintf("is beyond the end of the file, which has %d bytes", e.Size))
	}
	page, err := textpage.Read(f, offset, maxChars)
	if err != nil {
		return textpage.Page{}, fmt.Errorf("read %q: %w", e.Path, err)
	}
	return page, nil
}
