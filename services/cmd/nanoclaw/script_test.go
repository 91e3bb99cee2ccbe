package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/nanoclaw/nanoclaw/services/internal/modelserver"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/addrtest"
	"github.com/nanoclaw/nanoclaw/services/sandbox"
)

// TestScripts plays the stories of testdata/script. Each has a folder of its
// own, a site and a results page on loopback, and, when it holds model.yml, a
// scripted model.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		UpdateScripts: *update,
		Dir:           "testdata/script",
		Setup:         setUp,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"server":          startServer,
			"stop-server":     stopServer,
			"interrupt":       interrupt,
			"hangup":          hangup,
			"background":      background,
			"stop-background": stopBackground,
			"flaky-proxy":     flakyProxy,
			"keep":            keep,
			"addresses":       writeAddresses,
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "root":
				return os.Getuid() == 0, nil
			case "sandbox":
				return hasSandbox()
			}
			return false, fmt.Errorf("no condition %q", name)
		},
	})
}

// update writes what the program says into the golden parts of the scripts.
var update = flag.Bool("update", false, "write golden output into the scripts")

func setUp(env *testscript.Env) error {
	site := httptest.NewServer(siteHandler())
	env.Defer(site.Close)
	env.Values[serverKey{}], env.Values[backgroundKey{}] = new(*program), new(*program)
	grpcAddr, err := addrtest.Choose()
	if err != nil {
		return err
	}
	env.Vars = append(env.Vars,
		"SITE="+site.URL, "SITE_ADDR="+site.Listener.Addr().String(), "GRPC_ADDR="+grpcAddr,
		"NO_COLOR=1", "NANOCLAW_CONFIG=config.yml", "NANOCLAW_GRPC_ADDR="+grpcAddr,
		"NANOCLAW_HTTP_ADDR=127.0.0.1:0", "NANOCLAW_ADMIN_ADDR=127.0.0.1:0",
		"GORACE=atexit_sleep_ms=0", // else every process sleeps a second at its end
	)
	// A PDF reader that is compiled already is not compiled again for each script,
	// which the race detector makes ten times as long.
	if dir, err := os.UserCacheDir(); err == nil {
		env.Setenv("XDG_CACHE_HOME", dir)
	}
	config := filepath.Join(env.WorkDir, "config.yml")
	if _, err := os.Stat(config); errors.Is(err, fs.ErrNotExist) {
		if err := os.WriteFile(config, nil, 0o600); err != nil {
			return err
		}
	}
	script, err := os.ReadFile(filepath.Join(env.WorkDir, "model.yml"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	parsed, err := modelserver.Parse([]byte(strings.ReplaceAll(string(script), "$SITE", site.URL)))
	if err != nil {
		return err
	}
	model, err := modelserver.Listen("127.0.0.1:0", parsed)
	if err != nil {
		return err
	}
	env.Defer(func() { _ = model.Close() })
	env.Vars = append(env.Vars, "MODEL="+model.URL)
	return nil
}

// keep is "keep NAME": the variable becomes what was last printed.
func keep(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

// writeAddresses is "addresses N FILE": a file with N addresses of the site.
func writeAddresses(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	var list strings.Builder
	for i := range n {
		fmt.Fprintf(&list, "%s/piers/%d\n", ts.Getenv("SITE"), i+1)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(list.String()), 0o600))
}

// hasSandbox says whether this machine runs programs of Python.
var hasSandbox = sync.OnceValues(func() (bool, error) {
	found, err := sandbox.Probe(context.Background(), sandbox.DefaultConfig(), true)
	return found.GetAvailable() && found.GetLanguages()["python"] != "", err
})
