package gateway_test

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

type fileStream = grpc.ServerStreamingServer[sandboxv1.DownloadFileResponse]

func fileHead(path, mediaType string, size int) *sandboxv1.DownloadFileResponse {
	return &sandboxv1.DownloadFileResponse{Part: &sandboxv1.DownloadFileResponse_File{File: &sandboxv1.FileInfo{
		Path: path, Type: "file", SizeBytes: float64(size), MimeType: mediaType,
		ModifiedAt: timestamppb.New(time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)),
	}}}
}

func fileBytes(data string) *sandboxv1.DownloadFileResponse {
	return &sandboxv1.DownloadFileResponse{Part: &sandboxv1.DownloadFileResponse_Data{Data: []byte(data)}}
}

// holds is a shelf with one content under every path.
func holds(mediaType, content string) *shelf {
	return &shelf{send: func(r *sandboxv1.DownloadFileRequest, s fileStream) error {
		err := s.Send(fileHead(r.GetPath(), mediaType, len(content)))
		for rest := content; rest != "" && err == nil; {
			n := min(len(rest), 100_000)
			err = s.Send(fileBytes(rest[:n]))
			rest = rest[n:]
		}
		return err
	}}
}

func contentPath(path, more string) string {
	return "/api/workspaces/c1/files/content?path=" + url.QueryEscape(path) + more
}

func TestAFileIsDownloaded(t *testing.T) {
	for _, tc := range []struct {
		name, mediaType, content, inline string
		wantType, wantKind               string
	}{
		{name: "text", mediaType: "text/plain", content: "国", wantType: "text/plain; charset=utf-8", wantKind: "attachment"},
		{name: "text to be shown", mediaType: "text/plain", content: "x", inline: "&inline=true", wantType: "text/plain; charset=utf-8", wantKind: "inline"},
		{name: "text not to be shown", mediaType: "text/plain", content: "x", inline: "&inline=false", wantType: "text/plain; charset=utf-8", wantKind: "attachment"},
		{name: "a large image", mediaType: "image/png", content: strings.Repeat("0123456789", 100_000), inline: "&inline=1", wantType: "image/png", wantKind: "inline"},
		{name: "nothing", mediaType: "text/csv", wantType: "text/csv; charset=utf-8", wantKind: "attachment"},
		{name: "a document", mediaType: "application/pdf", content: "%PDF", inline: "&inline=true", wantType: "application/pdf", wantKind: "inline"},
		{name: "a page", mediaType: "text/html", content: "<script>", inline: "&inline=true", wantType: "application/octet-stream", wantKind: "attachment"},
		{name: "a drawing with scripts", mediaType: "image/svg+xml", content: "<svg>", inline: "&inline=true", wantType: "application/octet-stream", wantKind: "attachment"},
		{name: "XML", mediaType: "text/xml", content: "<x/>", inline: "&inline=true", wantType: "application/octet-stream", wantKind: "attachment"},
		{name: "a type that cannot be", mediaType: "text/html\r\nX: y", content: "x", inline: "&inline=true", wantType: "application/octet-stream", wantKind: "attachment"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newShelf(t, holds(tc.mediaType, tc.content))
			got := do(t, f.request(t, "GET", contentPath("a/b.txt", tc.inline), ""))
			if got.StatusCode != 200 || got.body != tc.content || got.ContentLength != int64(len(tc.content)) {
				t.Fatalf("answer = %d, %d bytes of %d", got.StatusCode, len(got.body), got.ContentLength)
			}
			kind, params, err := mime.ParseMediaType(got.Header.Get("Content-Disposition"))
			if err != nil || kind != tc.wantKind || params["filename"] != "b.txt" {
				t.Errorf("disposition %q, %v", got.Header.Get("Content-Disposition"), err)
			}
			for name, want := range map[string]string{
				"Content-Type": tc.wantType, "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'",
				"Cache-Control": "no-store", "Accept-Ranges": "none", "Last-Modified": "Wed, 06 May 2026 07:08:09 GMT", "X": "",
				"Cross-Origin-Resource-Policy": "same-origin", "X-Frame-Options": "DENY",
			} {
				if values := got.Header.Values(name); strings.Join(values, "|") != want {
					t.Errorf("%s: %q, want %q", name, values, want)
				}
			}
		})
	}
}

// hostileNames are names that programs can give to files.
var hostileNames = []string{
	"国 and €.txt", `quo"te`, `back\slash`, "a;b=c", "-rf", "...", "a\r\nSet-Cookie: x=1", "a\nb", "\x1b[2J", "\u202etxt.exe", "%2e%2e", "%00", "'", "*", "~",
	"=?utf-8?q?x?=", "UTF-8''x", " ", "a b", strings.Repeat("国", 85), "<script>", "\u0085", "\x7f",
}

func TestNamesOfFilesStayInTheirHeader(t *testing.T) {
	f := newShelf(t, holds("text/plain", "x"))
	for _, name := range hostileNames {
		got := do(t, f.request(t, "GET", contentPath("d/"+name, ""), ""))
		text := got.Header.Get("Content-Disposition")
		_, params, err := mime.ParseMediaType(text)
		if got.StatusCode != 200 || err != nil || params["filename"] != name {
			t.Errorf("%q is sent as %q, %v", name, text, err)
		}
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) || len(got.Cookies()) > 0 {
			t.Errorf("%q leads to %q and %v", name, text, got.Header)
		}
	}
}

func TestDownloadsThatAreRefused(t *testing.T) {
	missing := &shelf{send: func(r *sandboxv1.DownloadFileRequest, _ fileStream) error {
		return rpcerr.NotFound("file", r.GetPath())
	}}
	for _, tc := range []struct {
		name, method, path string
		status             int
		reason, field      string
	}{
		{"a file that is not there", "GET", contentPath("a", ""), 404, "NOT_FOUND", ""},
		{"no path", "GET", contentPath("", ""), 400, "INVALID_ARGUMENT", "path"},
		{"two paths", "GET", contentPath("a", "&path=b"), 400, "INVALID_ARGUMENT", "path"},
		{"a path that is no text", "GET", "/api/workspaces/c1/files/content?path=%ff", 400, "INVALID_ARGUMENT", "path"},
		{"a workspace that is no text", "GET", "/api/workspaces/%ff/files/content?path=a", 400, "INVALID_ARGUMENT", "workspace_id"},
		{"an unknown parameter", "GET", contentPath("a", "&inlin=true"), 400, "INVALID_ARGUMENT", "inlin"},
		{"a word for yes or no", "GET", contentPath("a", "&inline=maybe"), 400, "INVALID_ARGUMENT", "inline"},
		{"to write", "POST", contentPath("a", ""), 405, "METHOD_NOT_ALLOWED", ""},
		{"to write another way", "PUT", uploadPath, 405, "METHOD_NOT_ALLOWED", ""},
		{"no workspace", "GET", "/api/workspaces//files/content?path=a", 404, "NOT_FOUND", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newShelf(t, missing)
			got := do(t, f.request(t, tc.method, tc.path, ""))
			failure := mustFail(t, got, tc.status, tc.reason)
			if tc.field != "" && (len(*failure.Details) != 1 || (*failure.Details)[0].Field != tc.field) {
				t.Errorf("details = %+v, want the field %s", *failure.Details, tc.field)
			}
			if want := map[string]string{contentPath("a", ""): "GET", uploadPath: "DELETE, GET, POST"}[tc.path]; tc.status == 405 && got.Header.Get("Allow") != want {
				t.Errorf("Allow: %q, want %q", got.Header.Get("Allow"), want)
			}
			if got.Header.Get("Content-Disposition") != "" {
				t.Errorf("a failure is a file: %v", got.Header)
			}
		})
	}
}

func TestADownloadThatBreaksIsNotTakenForWhole(t *testing.T) {
	for _, tc := range []struct {
		name string
		send func(*sandboxv1.DownloadFileRequest, fileStream) error
	}{
		{"an error on the way", func(_ *sandboxv1.DownloadFileRequest, s fileStream) error {
			return errors.Join(s.Send(fileHead("a", "text/plain", 10)), s.Send(fileBytes("12345")), rpcerr.New(codes.Aborted, "FILE_CHANGED", "it changed"))
		}},
		{"an end that is too early", func(_ *sandboxv1.DownloadFileRequest, s fileStream) error {
			return errors.Join(s.Send(fileHead("a", "text/plain", 10)), s.Send(fileBytes("12345")))
		}},
		{"more than was said", func(_ *sandboxv1.DownloadFileRequest, s fileStream) error {
			return errors.Join(s.Send(fileHead("a", "text/plain", 10)), s.Send(fileBytes("12345")), s.Send(fileBytes("678901")))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newShelf(t, &shelf{send: tc.send})
			res, err := http.DefaultClient.Do(f.request(t, "GET", contentPath("a", ""), ""))
			if err == nil { // else it was cut before its head went out
				defer res.Body.Close()
				_, err = io.ReadAll(res.Body)
			}
			if err == nil {
				t.Error("the file seems whole")
			}
		})
	}
	t.Run("bytes without a head", func(t *testing.T) {
		f := newShelf(t, &shelf{send: func(_ *sandboxv1.DownloadFileRequest, s fileStream) error { return s.Send(fileBytes("x")) }})
		mustFail(t, do(t, f.request(t, "GET", contentPath("a", ""), "")), 500, "INTERNAL")
	})
}
