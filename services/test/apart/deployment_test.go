package apart

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/addrtest"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// within bounds everything that a test waits for.
const within = 60 * time.Second

// deployment is the services of a world, each in its own process.
type deployment struct {
	t   testing.TB
	w   *world.World
	key ed25519.PrivateKey

	services suite.ServicesConfig
	configs  map[string]*suite.Config // by name of the process
	procs    map[string]*world.Process
}

// deploy prepares a deployment: every process has its addresses, and none is
// started.
func deploy(t testing.TB, w *world.World) *deployment {
	t.Helper()
	d := &deployment{t: t, w: w, configs: map[string]*suite.Config{}, procs: map[string]*world.Process{}}
	file := filepath.Join(t.TempDir(), "identity.key")
	var err error
	if d.key, _, err = auth.LoadOrCreateKey(file); err != nil {
		t.Fatal(err)
	}
	d.w.Config.Auth.SigningKeyFile = file
	for _, target := range []string{"search", "fetcher", "orchestrator", "gateway"} {
		d.add(target)
	}
	d.services = suite.ServicesConfig{
		Search: d.configs["search"].GRPC.Addr, Fetcher: d.configs["fetcher"].GRPC.Addr, Orchestrator: d.configs["orchestrator"].GRPC.Addr,
	}
	return d
}

// add prepares one more process. A name is a target, or one with a number.
func (d *deployment) add(name string) *suite.Config {
	d.t.Helper()
	cfg := d.w.Config
	cfg.DataDir = filepath.Join(d.t.TempDir(), name)
	cfg.GRPC.Addr, cfg.HTTP.Addr = addrtest.Reserve(d.t), addrtest.Reserve(d.t)
	d.configs[name] = &cfg
	return &cfg
}

func targetOf(name string) string { return strings.TrimRight(name, "0123456789") }

// start starts processes, one after the other, and returns when they are ready.
func (d *deployment) start(names ...string) {
	d.t.Helper()
	for _, name := range names {
		p, err := d.launch(name)
		if err != nil {
			d.t.Fatalf("start %s: %v", name, err)
		}
		d.procs[name] = p
	}
}

// launch starts a process and returns when it is ready, or why it is not.
func (d *deployment) launch(name string) (*world.Process, error) {
	d.t.Helper()
	cfg := *d.configs[name]
	if cfg.Services == (suite.ServicesConfig{}) {
		cfg.Services = d.services
	}
	world := *d.w
	world.Config = cfg
	return serve(d.t, world.ConfigFile(d.t), targetOf(name))
}

// startAll starts every process that was prepared, those first that others need.
func (d *deployment) startAll() {
	d.t.Helper()
	for _, target := range []string{"search", "fetcher", "orchestrator", "gateway"} {
		for name := range maps.Keys(d.configs) {
			if targetOf(name) == target {
				d.start(name)
			}
		}
	}
}

// stop ends processes in order, gateways first, so that they hand out all that
// they know.
func (d *deployment) stop() {
	d.t.Helper()
	for _, target := range []string{"gateway", "orchestrator", "fetcher", "search"} {
		for name, p := range d.procs {
			if targetOf(name) != target {
				continue
			}
			if err := p.Stop(); err != nil {
				d.t.Errorf("stop %s: %v", name, err)
			}
			delete(d.procs, name)
		}
	}
}

// serve starts the binary with targets.
func serve(t testing.TB, config string, targets ...string) (*world.Process, error) {
	t.Helper()
	return world.Launch(t, exec.Command(world.Program(t, "nanoclaw"), append([]string{"serve", "--config", config}, targets...)...))
}

// token is the owner's, as it lies in the data folder of an orchestrator.
func (d *deployment) token(orchestrator string) string {
	d.t.Helper()
	text, err := os.ReadFile(filepath.Join(d.configs[orchestrator].DataDir, "local.token"))
	if err != nil {
		d.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// client speaks REST with a gateway.
func (d *deployment) client() *world.Client {
	c := &world.Client{Base: "http://" + d.configs["gateway"].HTTP.Addr, Token: d.token("orchestrator"), HTTP: &http.Client{Transport: &http.Transport{}}}
	d.t.Cleanup(c.HTTP.CloseIdleConnections)
	return c
}

// conn is a connection to a process for somebody with a token.
func (d *deployment) conn(name, token string) *grpc.ClientConn {
	d.t.Helper()
	conn, err := rpc.Dial(d.configs[name].GRPC.Addr, rpc.DialConfig{Token: token, TLS: clientTLS(d.configs[name].TLS)})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// clientTLS is what a caller of a process shows and believes.
func clientTLS(c suite.TLSConfig) rpc.TLSConfig {
	return rpc.TLSConfig{CertFile: c.CertFile, KeyFile: c.KeyFile, CAFile: c.CAFile}
}

// as is a connection of a service that signs with a key.
func (d *deployment) as(service string, key ed25519.PrivateKey, name string) *grpc.ClientConn {
	d.t.Helper()
	signer, err := auth.NewSigner(key, service)
	if err != nil {
		d.t.Fatal(err)
	}
	conn, err := rpc.Dial(d.configs[name].GRPC.Addr, rpc.DialConfig{Signer: signer, Audience: targetOf(name)})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// bare is a connection without anything.
func bare(t testing.TB, addr string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func deadline(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	t.Cleanup(cancel)
	return ctx
}

// until looks again and again until something is so.
func until(t testing.TB, what string, so func() bool) {
	t.Helper()
	untilAfter(t, within, what, so)
}

// untilAfter is until for what may take longer.
func untilAfter(t testing.TB, limit time.Duration, what string, so func() bool) {
	t.Helper()
	for late := time.Now().Add(limit); !so(); {
		if time.Now().After(late) {
			t.Fatalf("it did not come to this within %s: %s", limit, what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// tools are the names of the tools that a gateway lists.
func tools(t testing.TB, c *world.Client) string {
	t.Helper()
	var names []string
	list, _ := c.Data(t, "GET", "/api/tools", nil)["tools"].([]any)
	for _, tool := range list {
		names = append(names, fmt.Sprint(tool.(map[string]any)["name"]))
	}
	return strings.Join(names, " ")
}
