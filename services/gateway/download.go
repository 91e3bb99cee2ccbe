package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// shownTypes are the types that a browser may show, with what it is told. None of
// them runs anything; a file of any other type is only a file to it.
var shownTypes = map[string]string{
	"image/png": "image/png", "image/jpeg": "image/jpeg", "image/gif": "image/gif", "image/webp": "image/webp",
	"text/plain": "text/plain; charset=utf-8", "text/csv": "text/csv; charset=utf-8", "application/pdf": "application/pdf",
}

// download answers the bytes of a file. What breaks on the way cuts the
// connection, so that nobody takes a part for the whole.
func (g *Gateway) download(w http.ResponseWriter, r *http.Request) {
	workspace, ok := g.workspaceOf(w, r, downloadPattern)
	if !ok {
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	file, inline, err := asked(r)
	var stream sandboxv1.WorkspaceService_DownloadFileClient
	var first *sandboxv1.DownloadFileResponse
	if err == nil {
		stream, err = g.workspaces.DownloadFile(ctx, &sandboxv1.DownloadFileRequest{WorkspaceId: workspace, Path: file})
	}
	if err == nil {
		first, err = stream.Recv()
	}
	if err == nil && first.GetFile() == nil {
		err = errors.New("a download does not begin with its file")
	}
	if err != nil {
		g.problemOf(r, err).Write(w, r)
		return
	}
	describeFile(w.Header(), first.GetFile(), inline)
	w.WriteHeader(http.StatusOK)
	if err := g.passOn(w, stream, int64(first.GetFile().GetSizeBytes())); err != nil {
		g.logFailure(ctx, err)
		panic(http.ErrAbortHandler)
	}
}

// asked reads the query of a download.
func asked(r *http.Request) (file string, inline bool, err error) {
	query := r.URL.Query()
	for _, name := range []string{"path", "inline"} {
		if len(query[name]) > 1 {
			return "", false, rpcerr.InvalidArgument(name, "is given more than once")
		}
	}
	if file = query.Get("path"); file == "" {
		return "", false, rpcerr.InvalidArgument("path", "must be given: the path of the file in the workspace")
	}
	if text := query.Get("inline"); text != "" {
		if inline, err = strconv.ParseBool(text); err != nil {
			return "", false, rpcerr.InvalidArgument("inline", "must be true or false")
		}
	}
	return file, inline, nil
}

// describeFile sets the headers of a file. Whatever is in it, and whatever it is
// called, it is data to a browser: it runs nothing and gets at nothing.
func describeFile(h http.Header, f *sandboxv1.FileInfo, inline bool) {
	mediaType, shown := shownTypes[f.GetMimeType()]
	if !shown {
		mediaType = "application/octet-stream"
	}
	kind := "attachment"
	if inline && shown {
		kind = "inline"
	}
	h.Set("Content-Type", mediaType)
	h.Set("Content-Disposition", disposition(kind, path.Base(f.GetPath())))
	h.Set("Content-Length", strconv.FormatInt(int64(f.GetSizeBytes()), 10))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Accept-Ranges", "none")
	if m := f.GetModifiedAt(); m.IsValid() {
		h.Set("Last-Modified", m.AsTime().Format(http.TimeFormat))
	}
}

// disposition names a file twice: for readers of RFC 8187 as it is, for others
// with _ for everything that is not plain (RFC 6266, appendix D).
func disposition(kind, name string) string {
	var plain, exact strings.Builder
	for _, r := range name {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\%/;`, r) {
			r = '_'
		}
		plain.WriteRune(r)
	}
	for _, b := range []byte(name) {
		switch {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9', b == '-', b == '.', b == '_', b == '~':
			exact.WriteByte(b)
		default:
			fmt.Fprintf(&exact, "%%%02X", b)
		}
	}
	return fmt.Sprintf(`%s; filename="%s"; filename*=UTF-8''%s`, kind, plain.String(), exact.String())
}

// passOn writes exactly size bytes of a stream, or answers an error. A reader
// that makes no room for long is given up.
func (g *Gateway) passOn(w http.ResponseWriter, stream sandboxv1.WorkspaceService_DownloadFileClient, size int64) error {
	rc := http.NewResponseController(w)
	patience := g.streams.WriteTimeout
	defer func() { _ = rc.SetWriteDeadline(time.Time{}) }()
	for left := size; ; {
		msg, err := stream.Recv()
		if errors.Is(err, io.EOF) && left == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("receive a file, %d bytes before its end: %w", left, err)
		}
		if left -= int64(len(msg.GetData())); left < 0 {
			return errors.New("a file has more bytes than it was said to have")
		}
		if patience > 0 {
			_ = rc.SetWriteDeadline(time.Now().Add(patience))
		}
		if _, err := w.Write(msg.GetData()); err != nil {
			return fmt.Errorf("send a file: %w", err)
		}
	}
}
