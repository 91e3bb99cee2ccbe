package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	"github.com/nanoclaw/nanoclaw/services/gateway/internal/envelope"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

const (
	// uploadPartBytes is how much of a file one message carries on.
	uploadPartBytes = 256 << 10
	// maxUploadFiles is how many files one form may have.
	maxUploadFiles = 1000
	// maxFieldBytes is the longest value of a field that is no file.
	maxFieldBytes = 4096
)

// targetPrefix stands before the names of fields that a service finds wrong with
// the first message of an upload.
const targetPrefix = "target."

const (
	reasonInvalidForm = "INVALID_FORM"
	reasonMediaType   = "UNSUPPORTED_MEDIA_TYPE"
)

// uploadedFile is a file of the answer to an upload.
type uploadedFile struct {
	Path       string `json:"path"`
	Type       string `json:"type"`
	SizeBytes  int64  `json:"size_bytes"`
	ModifiedAt string `json:"modified_at"`
	MIMEType   string `json:"mime_type"`
	SHA256     string `json:"sha256"`
}

// upload stores the files of a form. A request that is refused is not read on:
// the server closes its connection when much of it is left.
func (g *Gateway) upload(w http.ResponseWriter, r *http.Request) {
	workspace, ok := g.workspaceOf(w, r, uploadPattern)
	if !ok {
		return
	}
	boundary, err := boundaryOf(r.Header)
	if err == nil && r.ContentLength > g.maxUpload {
		if r.ProtoMajor == 1 { // HTTP/2 ends the stream; this would end the others, too
			w.Header().Set("Connection", "close")
		}
		err = uploadTooLarge(g.maxUpload)
	}
	if err != nil {
		g.problemOf(r, err).Write(w, r)
		return
	}
	body := &incoming{
		Reader: http.MaxBytesReader(w, r.Body, g.maxUpload),
		rc:     http.NewResponseController(w), patience: g.limits.ReadTimeout,
	}
	u := &upload{client: g.workspaces, workspace: workspace, body: body, form: multipart.NewReader(body, boundary)}
	if err := u.run(r.Context()); err != nil {
		u.told(g.problemOf(r, err)).Write(w, r)
		return
	}
	envelope.WriteData(w, r, http.StatusOK, map[string]any{"files": u.files})
}

// boundaryOf is what stands between the parts of a form.
func boundaryOf(h http.Header) (string, error) {
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return "", refuse(http.StatusUnsupportedMediaType, reasonMediaType, "a request body cannot be compressed: send it without Content-Encoding")
	}
	types := h.Values("Content-Type")
	if len(types) == 1 {
		mediaType, params, err := mime.ParseMediaType(types[0])
		if err == nil && mediaType == "multipart/form-data" && params["boundary"] != "" {
			return params["boundary"], nil
		}
	}
	return "", refuse(http.StatusUnsupportedMediaType, reasonMediaType, "send files as Content-Type: multipart/form-data with a boundary")
}

func uploadTooLarge(most int64) error {
	return refuse(http.StatusRequestEntityTooLarge, "BODY_TOO_LARGE",
		"the upload is larger than %d bytes, the most of one request: send fewer files at a time, or a smaller one", most)
}

// incoming is a body whose sender may take its time, but not be silent for long.
type incoming struct {
	io.Reader
	rc       *http.ResponseController
	patience time.Duration
}

func (b *incoming) Read(p []byte) (int, error) {
	if b.patience > 0 {
		_ = b.rc.SetReadDeadline(time.Now().Add(b.patience))
	}
	return b.Reader.Read(p)
}

// pause lets the sender be silent while the server works.
func (b *incoming) pause() {
	if b.patience > 0 {
		_ = b.rc.SetReadDeadline(time.Time{})
	}
}

// upload is one form that is being stored.
type upload struct {
	client    sandboxv1.WorkspaceServiceClient
	workspace string
	body      *incoming
	form      *multipart.Reader

	// path is where the next file goes: a folder when it ends in /, or the file's
	// own path, which is used up by one file.
	path    string
	usedUp  bool
	keep    bool // what is there already
	current string
	files   []uploadedFile
}

func (u *upload) run(ctx context.Context) error {
	for {
		part, err := u.form.NextRawPart()
		if err == io.EOF { // nothing else: an end within the form is wrapped
			break
		}
		if err != nil {
			return u.broken(err)
		}
		if err := u.take(ctx, part); err != nil {
			return err
		}
	}
	u.body.pause()
	if len(u.files) == 0 {
		return rpcerr.InvalidArgument("file", "is missing: send at least one part with a filename")
	}
	return nil
}

func (u *upload) take(ctx context.Context, part *multipart.Part) error {
	kind, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil || kind != "form-data" {
		return refuse(http.StatusBadRequest, reasonInvalidForm, "a part of the form has no Content-Disposition: form-data that can be read")
	}
	switch strings.ToLower(part.Header.Get("Content-Transfer-Encoding")) {
	case "", "binary", "8bit", "7bit":
	default: // RFC 7578, section 4.7: deprecated
		return refuse(http.StatusBadRequest, reasonInvalidForm, "a part of the form is encoded: send its bytes as they are, without Content-Transfer-Encoding")
	}
	// Not part.FileName, which drops folders without a word.
	if filename, isFile := params["filename"]; isFile {
		return u.takeFile(ctx, filename, part)
	}
	return u.takeField(params["name"], part)
}

func (u *upload) takeField(name string, part io.Reader) error {
	raw, err := io.ReadAll(io.LimitReader(part, maxFieldBytes+1))
	if err != nil {
		return u.broken(err)
	}
	value := string(raw)
	switch {
	case len(value) > maxFieldBytes:
		return rpcerr.InvalidArgument(clip(strings.ToValidUTF8(name, "\uFFFD")), fmt.Sprintf("must not be longer than %d bytes", maxFieldBytes))
	case name == "path" && !utf8.ValidString(value):
		return rpcerr.InvalidArgument("path", "must be UTF-8")
	case name == "path":
		u.path, u.usedUp = value, false
	case name == "keep_existing" && (value == "true" || value == "false"):
		u.keep = value == "true"
	case name == "keep_existing":
		return rpcerr.InvalidArgument("keep_existing", "must be true or false")
	default:
		return rpcerr.InvalidArgument(clip(strings.ToValidUTF8(name, "\uFFFD")), "is no field of this form: it has path, keep_existing and files, which are parts with a filename")
	}
	return nil
}

// place is where the next file goes.
func (u *upload) place(filename string) (string, error) {
	switch {
	case len(u.files) == maxUploadFiles:
		return "", rpcerr.InvalidArgument("file", fmt.Sprintf("is there more than %d times: send the others in another request", maxUploadFiles))
	case !utf8.ValidString(filename):
		return "", rpcerr.InvalidArgument("filename", "must be UTF-8")
	case u.usedUp:
		return "", rpcerr.InvalidArgument("path", "names one file, and another one follows: end it in / to name a folder, or send a path before each file")
	case u.path != "" && !strings.HasSuffix(u.path, "/"):
		u.usedUp = true
		return u.path, nil
	case filename == "":
		return "", rpcerr.InvalidArgument("filename", "is empty: name the file, or send its path before it")
	}
	return u.path + filename, nil
}

func (u *upload) takeFile(ctx context.Context, filename string, part io.Reader) error {
	path, err := u.place(filename)
	if err != nil {
		return err
	}
	u.current = path
	done, err := u.store(ctx, path, part)
	if err != nil {
		return err
	}
	u.current = ""
	f := done.GetFile()
	u.files = append(u.files, uploadedFile{
		Path: f.GetPath(), Type: f.GetType(), SizeBytes: int64(f.GetSizeBytes()),
		ModifiedAt: f.GetModifiedAt().AsTime().Format(time.RFC3339Nano), MIMEType: f.GetMimeType(), SHA256: done.GetSha256(),
	})
	return nil
}

// store sends one file on while it comes. When it does not come whole the call is
// cancelled, and nothing of it is kept.
func (u *upload) store(ctx context.Context, path string, part io.Reader) (*sandboxv1.UploadFileResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := u.client.UploadFile(ctx)
	if err != nil {
		return nil, err
	}
	target := &sandboxv1.UploadTarget{WorkspaceId: u.workspace, Path: path, KeepExisting: u.keep}
	sent := stream.Send(&sandboxv1.UploadFileRequest{Part: &sandboxv1.UploadFileRequest_Target{Target: target}})
	for sent == nil {
		data, end := fill(part)
		if end != nil && end != io.EOF {
			return nil, u.broken(end)
		}
		if len(data) > 0 {
			sent = stream.Send(&sandboxv1.UploadFileRequest{Part: &sandboxv1.UploadFileRequest_Data{Data: data}})
		}
		if end == io.EOF {
			break
		}
	}
	u.body.pause()
	return stream.CloseAndRecv() // also says why a message could not be sent
}

// fill reads until it has a message full.
func fill(r io.Reader) (data []byte, err error) {
	data = make([]byte, uploadPartBytes)
	n := 0
	for n < len(data) && err == nil {
		var more int
		more, err = r.Read(data[n:])
		n += more
	}
	return data[:n], err
}

// broken says why a form cannot be read on.
func (u *upload) broken(err error) error {
	var tooLarge *http.MaxBytesError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &tooLarge):
		return uploadTooLarge(tooLarge.Limit)
	case errors.As(err, &timeout) && timeout.Timeout():
		return refuse(http.StatusBadRequest, "BODY_INCOMPLETE", "nothing came for %s: the upload has ended", u.body.patience)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return refuse(http.StatusBadRequest, "BODY_INCOMPLETE", "the form broke off before its last boundary: send it whole")
	}
	return refuse(http.StatusBadRequest, reasonInvalidForm, "the form cannot be read: send multipart/form-data as RFC 7578 describes it")
}

// told adds to a problem which file it is about. Files before it stay.
func (u *upload) told(p envelope.Problem) envelope.Problem {
	if p.Meta == nil {
		p.Meta = map[string]string{}
	}
	// The caller knows the form, not the message that it is sent on in.
	p.Message = strings.TrimPrefix(p.Message, targetPrefix)
	for i := range p.Details {
		p.Details[i].Field = strings.TrimPrefix(p.Details[i].Field, targetPrefix)
	}
	if u.current != "" {
		p.Meta["file"] = u.current
	}
	if n := len(u.files); n > 0 {
		p.Meta["stored_files"] = strconv.Itoa(n)
		p.Message += fmt.Sprintf(" (the %d before it of this request are stored)", n)
	}
	return p
}
