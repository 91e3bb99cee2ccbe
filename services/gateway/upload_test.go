package gateway_test

import (
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nanoclaw/nanoclaw/services/gateway"
)

func TestFilesOfAFormAreStored(t *testing.T) {
	s := &shelf{}
	f := newShelf(t, s)
	big := strings.Repeat("0123456789", 100_000)
	got := do(t, f.sendForm(t, uploadPath, strings.NewReader(form(
		file("a.txt", "first"), file("国.txt", ""), file("of/a/folder/b", "deep"),
		field("path", "docs/"), file("c", big), file("d.csv", "x,y"),
		field("path", "exact/name.txt"), file("other", "named"),
		field("path", ""), file(`q\"uote`, "quoted"), formPart{`form-data; name="x"; filename*=UTF-8''%e2%82%ac`, "euro"},
	))))
	if got.StatusCode != 200 || got.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("answer = %d %s", got.StatusCode, got.body)
	}
	for path, want := range map[string]string{
		"a.txt": "first", "国.txt": "", "of/a/folder/b": "deep", "docs/c": big, "docs/d.csv": "x,y",
		"exact/name.txt": "named", `q"uote`: "quoted", "€": "euro",
	} {
		if content, ok := s.stored(path); !ok || content != want {
			t.Errorf("%s has %d bytes, %t; want %d", path, len(content), ok, len(want))
		}
	}
	if s.count() != 8 {
		t.Errorf("%d files are stored", s.count())
	}
	var answer struct {
		Code int
		Data struct{ Files []map[string]any }
	}
	if err := json.Unmarshal([]byte(got.body), &answer); err != nil || len(answer.Data.Files) != 8 {
		t.Fatalf("%s, %v", got.body, err)
	}
	want := map[string]any{
		"path": "a.txt", "type": "file", "size_bytes": 5.0, "modified_at": "2026-05-06T07:08:09.0000005Z", "mime_type": "text/plain", "sha256": "5e",
	}
	if diff := cmp.Diff(want, answer.Data.Files[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAFileThatIsThereCanBeKept(t *testing.T) {
	s := &shelf{}
	f := newShelf(t, s)
	for value, want := range map[string]bool{"true": true, "false": false} {
		if got := do(t, f.sendForm(t, uploadPath, strings.NewReader(form(field("keep_existing", value), file("a", "x"))))); got.StatusCode != 200 {
			t.Fatalf("answer = %d %s", got.StatusCode, got.body)
		}
		if s.last().GetKeepExisting() != want {
			t.Errorf("keep_existing %s was sent on as %t", value, !want)
		}
	}
}

func TestFormsThatAreRefused(t *testing.T) {
	whole := form(file("a", "x"))
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for _, tc := range []struct {
		name   string
		body   string
		change func(*http.Request)
		status int
		reason string
		field  string
		stored int
	}{
		{name: "JSON", body: "{}", change: header("Content-Type", "application/json"), status: 415, reason: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "text", body: whole, change: header("Content-Type", "text/plain"), status: 415, reason: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "the form of a page without files", body: "a=b", change: header("Content-Type", "application/x-www-form-urlencoded"), status: 415, reason: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "another multipart", body: whole, change: header("Content-Type", "multipart/mixed; boundary="+boundary), status: 415, reason: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "no boundary", body: whole, change: header("Content-Type", "multipart/form-data"), status: 415, reason: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "no type", body: whole, change: func(r *http.Request) { r.Header.Del("Content-Type") }, status: 415, reason: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "two types", body: whole, change: func(r *http.Request) { r.Header.Add("Content-Type", "text/plain") }, status: 415, reason: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "a compressed form", body: whole, change: header("Content-Encoding", "gzip"), status: 415, reason: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "nothing", status: 400, reason: "BODY_INCOMPLETE"},
		{name: "another boundary", body: strings.ReplaceAll(whole, boundary, "other"), status: 400, reason: "BODY_INCOMPLETE"},
		{name: "broken off in a file", body: whole[:strings.Index(whole, "x\r\n")], status: 400, reason: "BODY_INCOMPLETE"},
		{name: "broken off after a file", body: strings.TrimSuffix(whole, "--\r\n"), status: 400, reason: "BODY_INCOMPLETE", stored: 1},
		{name: "a header that is none", body: "--" + boundary + "\r\n\x00: y\r\n\r\nx\r\n--" + boundary + "--\r\n", status: 400, reason: "INVALID_FORM"},
		{name: "a part without a name", body: "--" + boundary + "\r\nX: y\r\n\r\nx\r\n--" + boundary + "--\r\n", status: 400, reason: "INVALID_FORM"},
		{name: "a part that is attached", body: form(formPart{`attachment; filename="a"`, "x"}), status: 400, reason: "INVALID_FORM"},
		{name: "an encoded part", body: strings.Replace(whole, "\r\n\r\n", "\r\nContent-Transfer-Encoding: base64\r\n\r\n", 1), status: 400, reason: "INVALID_FORM"},
		{name: "no file", body: form(field("path", "docs/")), status: 400, reason: "INVALID_ARGUMENT", field: "file"},
		{name: "a field that is unknown", body: form(field("pth", "docs/"), file("a", "x")), status: 400, reason: "INVALID_ARGUMENT", field: "pth"},
		{name: "a path that is too long", body: form(field("path", strings.Repeat("a", 4097)), file("a", "x")), status: 400, reason: "INVALID_ARGUMENT", field: "path"},
		{name: "a path that is no text", body: form(field("path", "\xff/"), file("a", "x")), status: 400, reason: "INVALID_ARGUMENT", field: "path"},
		{name: "a name that is no text", body: form(file("\xff", "x")), status: 400, reason: "INVALID_ARGUMENT", field: "filename"},
		{name: "a file without a name", body: form(file("", "x")), status: 400, reason: "INVALID_ARGUMENT", field: "filename"},
		{name: "two files of one path", body: form(field("path", "a"), file("x", "x"), file("y", "y")), status: 400, reason: "INVALID_ARGUMENT", field: "path", stored: 1},
		{name: "a word for yes or no", body: form(field("keep_existing", "yes"), file("a", "x")), status: 400, reason: "INVALID_ARGUMENT", field: "keep_existing"},
		{name: "a path that leads out", body: form(file("ok", "x"), file("../../etc/cron.d/x", "x")), status: 400, reason: "INVALID_ARGUMENT", field: "path", stored: 1},
		{name: "more than the workspace holds", body: form(file("a", strings.Repeat("x", 2000))), status: 429, reason: "QUOTA_EXCEEDED"},
		{name: "more than one request may have", body: form(file("a", strings.Repeat("x", 5000))), status: 413, reason: "BODY_TOO_LARGE"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &shelf{quota: 1000}
			f := newShelf(t, s, uploads(5000))
			for _, sized := range []bool{true, false} {
				var body io.Reader = strings.NewReader(tc.body)
				if !sized {
					body = io.MultiReader(body) // its length is not told
				}
				r := f.sendForm(t, uploadPath, body)
				if tc.change != nil {
					tc.change(r)
				}
				got := do(t, r)
				failure := mustFail(t, got, tc.status, tc.reason)
				if tc.field != "" && (len(*failure.Details) != 1 || (*failure.Details)[0].Field != tc.field) {
					t.Errorf("details = %+v, want the field %s", *failure.Details, tc.field)
				}
				var facts struct {
					Stored string `json:"stored_files"`
				}
				if err := json.Unmarshal([]byte(got.body), &facts); err != nil || (facts.Stored == "1") != (tc.stored == 1) {
					t.Errorf("stored_files = %q, want %d", facts.Stored, tc.stored)
				}
			}
			if s.count() != tc.stored {
				t.Errorf("%d files are stored, want %d", s.count(), tc.stored)
			}
		})
	}
}

func TestAProblemNamesItsFile(t *testing.T) {
	f := newShelf(t, &shelf{quota: 10})
	got := do(t, f.sendForm(t, uploadPath, strings.NewReader(form(field("path", "docs/"), file("a", "x"), file("big", strings.Repeat("x", 11))))))
	var facts struct{ File, Message string }
	if err := json.Unmarshal([]byte(got.body), &facts); err != nil || facts.File != "docs/big" || !strings.Contains(facts.Message, "the 1 before it") {
		t.Errorf("%s", got.body)
	}
}

func TestUploadsNeedAServiceAndAWorkspace(t *testing.T) {
	f := newFixture(t, nil)
	mustFail(t, do(t, f.sendForm(t, uploadPath, strings.NewReader(form(file("a", "x"))))), 501, "UNIMPLEMENTED")
	f = newShelf(t, &shelf{})
	refused := mustFail(t, do(t, f.sendForm(t, "/api/workspaces/.x/files", strings.NewReader(form(file("a", "x"))))), 400, "INVALID_ARGUMENT")
	if (*refused.Details)[0].Field != "workspace_id" || refused.Message != "workspace_id: is no id" {
		t.Errorf("%+v %+v", refused, *refused.Details)
	}
	mustFail(t, do(t, f.sendForm(t, "/api/workspaces/%ff/files", strings.NewReader(form(file("a", "x"))))), 400, "INVALID_ARGUMENT")
}

// endless is a form with one file that does not end. Beyond enough it waits until
// there is an answer, so that nothing is asked of how fast anybody is.
type endless struct {
	head     io.Reader
	enough   int64
	answered chan struct{}
	sent     atomic.Int64
}

func newEndless(enough int64) *endless {
	whole := form(file("big.bin", "x"))
	return &endless{head: strings.NewReader(whole[:strings.Index(whole, "x\r\n")]), enough: enough, answered: make(chan struct{})}
}

func (e *endless) Read(p []byte) (int, error) {
	if n, err := e.head.Read(p); err == nil {
		return n, nil
	}
	if e.sent.Load() >= e.enough {
		<-e.answered
		return 0, io.ErrUnexpectedEOF
	}
	clear(p)
	e.sent.Add(int64(len(p)))
	return len(p), nil
}

func TestAFileOfTwoGiBIsRefusedEarly(t *testing.T) {
	const gib2, limit = 2 << 30, 1 << 20
	t.Run("by its length, before any of it", func(t *testing.T) {
		f := newShelf(t, &shelf{}, uploads(limit))
		body := newEndless(gib2)
		defer close(body.answered)
		r := f.sendForm(t, uploadPath, body)
		r.ContentLength = gib2
		r.Header.Set("Expect", "100-continue")
		transport := &http.Transport{ExpectContinueTimeout: time.Hour}
		defer transport.CloseIdleConnections()
		res, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		mustFail(t, reply{res, string(text)}, 413, "BODY_TOO_LARGE")
		if !res.Close || body.sent.Load() > 0 {
			t.Errorf("the connection is closed: %t; %d bytes were sent", res.Close, body.sent.Load())
		}
	})
	for _, tc := range []struct {
		name   string
		shelf  *shelf
		limit  int64
		status int
		reason string
	}{
		{"at the limit, when its length is not told", &shelf{got: func(int) {}}, limit, 413, "BODY_TOO_LARGE"},
		{"by the workspace", &shelf{quota: limit}, 2 * gib2, 429, "QUOTA_EXCEEDED"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newShelf(t, tc.shelf, uploads(tc.limit))
			body := newEndless(16 * limit)
			r := f.sendForm(t, uploadPath, body)
			res, err := http.DefaultTransport.RoundTrip(r)
			close(body.answered)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			text, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			mustFail(t, reply{res, string(text)}, tc.status, tc.reason)
			if tc.shelf.count() > 0 {
				t.Error("a part of the file is stored")
			}
		})
	}
}

func TestAnUploadTakesLittleMemory(t *testing.T) {
	const size = 64 << 20
	heap := func() int64 { // what is in use, without what nobody needs any more
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	most, received := int64(0), 0
	s := &shelf{got: func(n int) {
		if received += n; received%(8<<20) == 0 {
			most = max(most, heap())
		}
	}}
	f := newShelf(t, s)
	before := heap()
	whole := form(file("big.bin", "x"))
	at := strings.Index(whole, "x\r\n")
	got := do(t, f.sendForm(t, uploadPath, io.MultiReader(strings.NewReader(whole[:at]), io.LimitReader(zeros{}, size), strings.NewReader(whole[at+1:]))))
	if got.StatusCode != 200 || received != size {
		t.Fatalf("answer = %d %s, %d bytes received", got.StatusCode, got.body, received)
	}
	t.Logf("the heap grew by %d KiB", (most-before)>>10)
	if grown := most - before; most == 0 || grown > size/4 {
		t.Errorf("the heap grew by %d MiB for a file of %d MiB", grown>>20, size>>20)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestAnUploadWhoseCallerLeavesIsNotKept(t *testing.T) {
	came := make(chan int, 100)
	s := &shelf{got: func(n int) { came <- n }}
	f := newShelf(t, s)
	body := newEndless(1 << 20)
	r := f.sendForm(t, uploadPath, body)
	leave := make(chan struct{})
	go func() {
		<-came // the file is on its way
		close(body.answered)
		close(leave)
	}()
	if res, err := http.DefaultTransport.RoundTrip(r); err == nil {
		t.Errorf("answer = %d", res.StatusCode)
		_ = res.Body.Close()
	}
	<-leave
	for {
		s.mu.Lock()
		ended := len(s.ended)
		s.mu.Unlock()
		if ended > 0 {
			break
		}
		runtime.Gosched()
	}
	if s.count() > 0 {
		t.Error("half a file is stored")
	}
}

func TestASilentSenderIsGivenUp(t *testing.T) {
	s := &shelf{got: func(int) {}}
	f := newShelf(t, s, func(c *gateway.Config, _ *gateway.Deps) { c.BodyReadTimeout = 50 * time.Millisecond })
	body := newEndless(1 << 20)
	res, err := http.DefaultTransport.RoundTrip(f.sendForm(t, uploadPath, body))
	close(body.answered)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	failure := mustFail(t, reply{res, string(text)}, 400, "BODY_INCOMPLETE")
	if !strings.Contains(failure.Message, "nothing came for 50ms") || s.count() > 0 {
		t.Errorf("%+v, %d files", failure, s.count())
	}
}
