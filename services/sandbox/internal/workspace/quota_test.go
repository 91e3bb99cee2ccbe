package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

func kib(n int) string { return strings.Repeat("x", n<<10) }

func TestTheQuotaOfBytes(t *testing.T) {
	s := newStore(t, Quota{Bytes: 100 << 10, Files: 100})
	s.mustWrite(t, ws, "a", kib(60))
	_, err := s.write(ann, ws, "b", kib(41))
	mustBe(t, err, codes.ResourceExhausted, ReasonQuotaExceeded)
	s.mustWrite(t, ws, "b", kib(40)) // to the byte
	_, err = s.write(ann, ws, "c", "x")
	mustBe(t, err, codes.ResourceExhausted, ReasonQuotaExceeded)
	s.mustWrite(t, ws, "c", "")
	s.mustWrite(t, ws, "a", kib(60)) // what is replaced makes room
	_, err = s.write(ann, ws, "a", kib(61))
	mustBe(t, err, codes.ResourceExhausted, ReasonQuotaExceeded)
	if got, err := s.read(ann, ws, "a"); err != nil || got != kib(60) {
		t.Errorf("the file that could not be replaced has %d bytes, %v", len(got), err)
	}
	s.mustWrite(t, "c2", "a", kib(100)) // another workspace has its own
	must(t, s.Delete(t.Context(), ann, ws, "a", false))
	s.mustWrite(t, ws, "d", kib(60))
}

func TestTheQuotaOfFiles(t *testing.T) {
	s := newStore(t, Quota{Bytes: 1 << 20, Files: 5})
	s.mustWrite(t, ws, "a/b/c", "x") // three
	_, err := s.write(ann, ws, "d/e/f", "x")
	mustBe(t, err, codes.ResourceExhausted, ReasonQuotaExceeded)
	s.mustWrite(t, ws, "a/b/d", "x")
	s.mustWrite(t, ws, "e", "x")
	_, err = s.write(ann, ws, "f", "x")
	mustBe(t, err, codes.ResourceExhausted, ReasonQuotaExceeded)
	s.mustWrite(t, ws, "e", "y")
	must(t, s.Delete(t.Context(), ann, ws, "a", true))
	s.mustWrite(t, ws, "f/g", "x")
	equal(t, names(s.all(t, ws, "", 10)), []string{"e", "f"})
}

func TestTheQuotaIsKeptByWritersTogether(t *testing.T) {
	s := newStore(t, Quota{Bytes: 100 << 10, Files: 100})
	var writers sync.WaitGroup
	var kept, refused atomic.Int32
	for i := range 16 {
		writers.Go(func() {
			_, err := s.write(ann, ws, string(rune('a'+i)), kib(30))
			switch {
			case err == nil:
				kept.Add(1)
			case rpcerr.Reason(err) == ReasonQuotaExceeded:
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	writers.Wait()
	if kept.Load() == 0 || kept.Load() > 3 || kept.Load()+refused.Load() != 16 {
		t.Errorf("%d of 16 files were kept, %d refused; 3 fit", kept.Load(), refused.Load())
	}
	used, err := s.Usage(t.Context(), ann, ws)
	if err != nil || used.Bytes != int64(kept.Load())*30<<10 {
		t.Errorf("usage %+v, %v", used, err)
	}
}

func TestFilesOfProgramsCount(t *testing.T) {
	s := newStore(t, Quota{Bytes: 100 << 10, Files: 100})
	dir, done, err := s.Use(ann, ws)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "a"), []byte(kib(90)), 0o600))
	_, err = s.write(ann, ws, "b", kib(20)) // seen while the program runs
	mustBe(t, err, codes.ResourceExhausted, ReasonQuotaExceeded)
	must(t, os.Remove(filepath.Join(dir, "a")))
	done()
	done()
	s.mustWrite(t, ws, "b", kib(20)) // and after
	sparse, err := os.Create(filepath.Join(dir, "sparse"))
	must(t, err)
	must(t, sparse.Truncate(1<<40))
	must(t, sparse.Close())
	used, err := s.measure(t.Context(), key{ann, ws})
	if err != nil || used.Bytes != 1<<40+20<<10 || used.Files != 2 || used.Modified.IsZero() {
		t.Errorf("usage %+v, %v", used, err)
	}
}

func TestAFileOfTwoGiBEndsAtTheQuota(t *testing.T) {
	s := newStore(t, Quota{Bytes: 1 << 20, Files: 10})
	w, err := s.Create(t.Context(), Target{User: ann, Workspace: ws, Path: "a"})
	must(t, err)
	defer w.Abort()
	part := make([]byte, 64<<10)
	for written := 0; written < 2<<30; written += len(part) {
		if _, err = w.Write(part); err != nil {
			if written != 1<<20 {
				t.Errorf("refused after %d bytes", written)
			}
			break
		}
	}
	mustBe(t, err, codes.ResourceExhausted, ReasonQuotaExceeded)
}

func TestOfFilesWrittenAtTheSameTimeThoseAreKeptThatFit(t *testing.T) {
	s := newStore(t, Quota{Bytes: 256 << 10, Files: 100})
	var writers []*Writer
	for i := range 6 {
		w, err := s.Create(t.Context(), Target{User: ann, Workspace: ws, Path: string(rune('a' + i))})
		must(t, err)
		writers = append(writers, w)
	}
	lost := make([]error, len(writers))
	for range 10 { // side by side, 10 KiB of each at a time
		for i, w := range writers {
			if lost[i] == nil {
				_, lost[i] = w.Write([]byte(kib(10)))
			}
		}
	}
	for i, w := range writers {
		if i < 2 {
			must(t, lost[i])
			_, err := w.Commit(t.Context())
			must(t, err)
			continue
		}
		mustBe(t, lost[i], codes.ResourceExhausted, ReasonQuotaExceeded)
		if _, told := rpcerr.RetryDelay(lost[i]); !told || !strings.Contains(lost[i].Error(), "try again") {
			t.Errorf("writer %d is not told to try again: %v", i, lost[i])
		}
		w.Abort()
	}
	equal(t, names(s.all(t, ws, "", 10)), []string{"a", "b"})
	s.mustWrite(t, ws, "c", kib(56)) // nothing of those that lost is counted
	_, err := s.write(ann, ws, "d", "x")
	mustBe(t, err, codes.ResourceExhausted, ReasonQuotaExceeded)
	if _, told := rpcerr.RetryDelay(err); told {
		t.Errorf("a workspace that is full does not empty itself: %v", err)
	}
}

func TestAWorkspaceInWhichAProgramWroteNothingIsNotKept(t *testing.T) {
	s := newStore(t, roomy)
	listed := func() (ids []string) {
		page, err := s.Workspaces(t.Context(), ann, "", 10)
		must(t, err)
		for _, w := range page.Items {
			ids = append(ids, w.ID)
		}
		return ids
	}
	_, first, err := s.Use(ann, ws)
	must(t, err)
	dir, second, err := s.Use(ann, ws)
	must(t, err)
	first() // the other is still at work
	must(t, os.WriteFile(filepath.Join(dir, "a"), nil, 0o600))
	must(t, os.Remove(filepath.Join(dir, "a")))
	second()
	second()
	equal(t, listed(), nil)
	dir, done, err := s.Use(ann, ws)
	must(t, err)
	must(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	done()
	equal(t, listed(), []string{ws})
}
