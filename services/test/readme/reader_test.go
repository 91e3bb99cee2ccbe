package readme

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/addrtest"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// reader is somebody who follows the README in a folder of their own.
type reader struct {
	dir     string
	env     []string
	replace *strings.Replacer // the addresses of the README by those of the test
	servers []*world.Process
}

// newReader puts the program where make puts it and says where everything is.
func newReader(t *testing.T, w *world.World, collector string) *reader {
	t.Helper()
	r := &reader{dir: t.TempDir()}
	bin := filepath.Join(r.dir, "bin")
	if err := errors.Join(os.Mkdir(bin, 0o700), os.Symlink(world.Program(t, "nanoclaw"), filepath.Join(bin, "nanoclaw"))); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"gen", "services"} { // what a block may build
		at, err := filepath.Abs(filepath.Join(root, folder))
		if err == nil {
			err = os.Symlink(at, filepath.Join(r.dir, folder))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	r.env = append(os.Environ(),
		"NANOCLAW_NETGUARD_ALLOW="+strings.TrimPrefix(w.Site.URL, "http://"), "NANOCLAW_SEARCH_BING_BASE_URL="+w.Site.URL, "PAGE="+w.Site.URL+"/article", "QUERY=nanoclaws size")
	places := []string{"127.0.0.1:4317", collector}
	for place, variable := range map[string]string{
		"127.0.0.1:3000": "NANOCLAW_HTTP_ADDR", "127.0.0.1:3001": "NANOCLAW_GRPC_ADDR", "127.0.0.1:3002": "NANOCLAW_ADMIN_ADDR",
		"127.0.0.1:3101": "", "127.0.0.1:3102": "",
	} {
		at := addrtest.Reserve(t)
		places = append(places, place, at)
		if variable != "" {
			r.env = append(r.env, variable+"="+at)
		}
	}
	r.replace = strings.NewReplacer(places...)
	return r
}

// config checks a block of config.yml.
func (r *reader) config(t *testing.T, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, warnings, err := suite.Load(suite.LoadOptions{File: file, FileRequired: true, Env: []string{"GLM_API_KEY=a-key"}})
	if err != nil || len(warnings) > 0 {
		t.Errorf("%s\n%v %v", text, err, warnings)
	}
}

// sh is a block as it stands, but for its addresses.
func (r *reader) sh(t *testing.T, text string) *exec.Cmd {
	sh := exec.CommandContext(t.Context(), "sh", "-eu", "-c", r.replace.Replace(text))
	sh.Dir, sh.Env = r.dir, append(slices.Clip(r.env), "PWD="+r.dir)
	return sh
}

// serve runs a block in a terminal of its own and returns when its server is
// ready.
func (r *reader) serve(t *testing.T, text string) {
	t.Helper()
	p, err := world.Launch(t, r.sh(t, strings.Replace(text, "bin/nanoclaw", "exec bin/nanoclaw", 1)))
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	if !strings.Contains(p.Ready, "ready") {
		t.Errorf("%s\nprints %s", text, p.Ready)
	}
	r.servers = append(r.servers, p)
}

// stop ends every server, the last one first.
func (r *reader) stop(t *testing.T) {
	t.Helper()
	for _, p := range slices.Backward(r.servers) {
		if err := p.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	}
	r.servers = nil
}

// ask asks as the README does.
func (r *reader) ask(t *testing.T) {
	t.Helper()
	if out := r.run(t, `bin/nanoclaw chat "Look up how large nanoclaws are, and name your source."`); !strings.Contains(out, world.Article) {
		t.Errorf("the answer is %s", out)
	}
}

// run runs a block to its end.
func (r *reader) run(t *testing.T, text string) string {
	t.Helper()
	out, err := r.try(t, text)
	if err != nil {
		t.Errorf("%s\n%v\n%s", text, err, out)
	}
	return out
}

// try is run for what may fail; then what was said of it is with the output.
func (r *reader) try(t *testing.T, text string) (string, error) {
	t.Helper()
	sh := r.sh(t, text)
	var stderr bytes.Buffer
	sh.Stderr = &stderr
	out, err := sh.Output()
	if err != nil {
		return string(out) + stderr.String(), err
	}
	return string(out), nil
}
