package doctor

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/sandbox"
)

func TestAMachineWithoutASandbox(t *testing.T) {
	for _, tc := range []struct {
		name    string
		enabled []string
		level   Level
	}{
		{"is fine for models that run no code", nil, Warning},
		{"is not for those that do", []string{"web_search", "run_code"}, Failed},
		{"nor where every tool is enabled", []string{"*"}, Failed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := quiet(t)
			cfg.Tools.Enabled = tc.enabled
			cfg.Sandbox.Bubblewrap = filepath.Join(t.TempDir(), "bwrap")
			x := &examination{cfg: cfg}
			got := x.sandbox(t.Context())
			if len(got) != 1 {
				t.Fatalf("%+v", got)
			}
			shows(t, got[0], tc.level, "no program can be run", "bwrap")
		})
	}
	t.Run("asks no other machine", func(t *testing.T) {
		cfg := quiet(t)
		cfg.Services.Sandbox = "sandbox.example:3001"
		x := &examination{cfg: cfg}
		shows(t, x.sandbox(t.Context())[0], Info, "sandbox.example:3001")
	})
}

func TestWhoCanCallDecidesWhetherMemoryMayBeMeasured(t *testing.T) {
	for _, tc := range []struct {
		name, http, grpc string
		want             bool
	}{
		{"loopback alone", "127.0.0.1:3000", "localhost:3001", true},
		{"gRPC for others", "127.0.0.1:3000", "0.0.0.0:3001", false},
		{"the web app for others", ":3000", "127.0.0.1:3001", false},
	} {
		cfg := quiet(t)
		cfg.HTTP.Addr, cfg.GRPC.Addr = tc.http, tc.grpc
		if got := (&examination{cfg: cfg}).singleUser(); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

func TestTheSandboxOfThisMachineIsTried(t *testing.T) {
	cfg := quiet(t)
	cfg.Sandbox.Bubblewrap = ""
	probed, err := sandbox.Probe(t.Context(), cfg.Sandbox, true)
	if err != nil {
		t.Fatal(err)
	}
	got := (&examination{cfg: cfg}).sandbox(t.Context())
	if probed.GetAvailable() {
		shows(t, got[0], OK, "bubblewrap "+probed.GetDriverVersion()+" holds", "bash")
		return
	}
	for _, f := range got {
		shows(t, f, Warning, "no program can be run")
	}
}

func TestFoldersThatProgramsMayReadAreLookedAt(t *testing.T) {
	cfg := quiet(t)
	file := filepath.Join(cfg.DataDir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, path string
		level      Level
		words      string
	}{
		{"a folder", t.TempDir(), OK, "may read"},
		{"one that is not there", filepath.Join(cfg.DataDir, "nowhere"), Failed, "is not there"},
		{"a file", file, Failed, "is not a folder"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg.Sandbox.Roots = []sandbox.RootConfig{{Path: tc.path, Mode: "ro"}}
			x := &examination{cfg: cfg}
			shows(t, find(t, run(t.Context(), []check{{"sandbox roots", x.roots}}), "sandbox roots"), tc.level, tc.path, tc.words)
		})
	}
}
