package apart

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/suite"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

func TestAProcessThatCannotServeSaysWhy(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		target string
		change func(t *testing.T, cfg *suite.Config)
		code   int
		want   []string
	}{
		{"an unknown target", "serch", nil, 2, []string{`there is no target "serch"`, "search, fetcher, task-manager, sandbox, orchestrator, gateway"}},
		{"a gateway that is told of no orchestrator", "gateway", func(_ *testing.T, cfg *suite.Config) {
			cfg.Services = suite.ServicesConfig{Search: "127.0.0.1:1", Fetcher: "127.0.0.1:1"}
		},
			1, []string{"gateway needs orchestrator", "services.orchestrator"}},
		{"an orchestrator that is told of no search", "orchestrator", func(_ *testing.T, cfg *suite.Config) { cfg.Services = suite.ServicesConfig{Fetcher: "127.0.0.1:1"} },
			1, []string{"orchestrator needs search", "services.search"}},
		{"a signing key that is not there", "search", func(t *testing.T, cfg *suite.Config) {
			cfg.Auth.SigningKeyFile = filepath.Join(t.TempDir(), "none.key")
		},
			1, []string{"none.key"}},
		{"a signing key that everybody can read", "search", func(t *testing.T, cfg *suite.Config) {
			file, _ := otherKey(t)
			if err := os.Chmod(file, 0o644); err != nil {
				t.Fatal(err)
			}
			cfg.Auth.SigningKeyFile = file
		}, 1, []string{"other.key", "chmod"}},
		{"a certificate that is none", "search", func(t *testing.T, cfg *suite.Config) {
			file := filepath.Join(t.TempDir(), "cert.pem")
			if err := os.WriteFile(file, []byte("not a certificate"), 0o600); err != nil {
				t.Fatal(err)
			}
			cfg.TLS.CertFile, cfg.TLS.KeyFile = file, file
		}, 1, []string{"cert.pem"}},
		{"a replica on a database of its own", "orchestrator", func(_ *testing.T, cfg *suite.Config) { cfg.GRPC.Advertise = "127.0.0.1:1" },
			1, []string{"grpc.advertise", "storage.driver"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := deploy(t, world.New(t, answering))
			cfg := d.add(tc.target)
			if tc.change != nil {
				tc.change(t, cfg)
			}
			_, err := d.launch(tc.target)
			ended, ok := errors.AsType[*world.ExitError](err)
			if !ok {
				t.Fatalf("it started: %v", err)
			}
			if ended.Code != tc.code {
				t.Errorf("exit code %d, want %d", ended.Code, tc.code)
			}
			for _, want := range tc.want {
				if !strings.Contains(ended.Output, want) {
					t.Errorf("it says %q, want %q in it", ended.Output, want)
				}
			}
			if strings.Contains(ended.Output, "goroutine ") {
				t.Errorf("it panicked: %s", ended.Output)
			}
		})
	}
}
