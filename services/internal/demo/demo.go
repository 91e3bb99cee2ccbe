package demo

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"

	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/modelserver"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/telemetry"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
	"github.com/nanoclaw/nanoclaw/services/orchestrator"
	"github.com/nanoclaw/nanoclaw/services/sandbox"
)

// Question is what is asked.
const Question = "How do I calibrate a nanoclaw, and which pages of its handbook say most about it?"

// toolRunCode is the tool that a machine may not be able to offer.
const toolRunCode = "run_code"

//go:embed model.yml
var modelScript []byte

const (
	loopback = "127.0.0.1:0"
	// maxRounds leaves room for asking again how the crawl goes.
	maxRounds = 40
	stopTime  = 10 * time.Second
)

// Options say how the demonstration runs. The zero value will do.
type Options struct {
	// Sandbox is how programs are isolated; the zero value: as by default.
	Sandbox *sandbox.Config
	// Traces say where traces go; nil: nowhere.
	Traces *suite.TelemetryConfig
	// Telemetry changes how traces are made, for tests.
	Telemetry func(*telemetry.Config)
	// Logger; nil: nothing is logged.
	Logger  *slog.Logger
	Version string
}

// Demo is a running demonstration.
type Demo struct {
	suite  *suite.Suite
	tools  []string
	checks *sandboxv1.GetCapabilitiesResponse
	traces suite.TelemetryConfig
	closes []func() error // in reverse order
}

// Start starts everything; Close ends it and leaves nothing behind.
func Start(ctx context.Context, o Options) (*Demo, error) {
	d := &Demo{tools: []string{"web_search", "fetch_page", "crawl_batch", "query_crawl_task", toolRunCode}}
	if err := d.start(ctx, o); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Demo) start(ctx context.Context, o Options) error {
	cfg := suite.DefaultConfig()
	if o.Sandbox != nil {
		cfg.Sandbox = *o.Sandbox
	}
	if o.Traces != nil {
		cfg.Telemetry = *o.Traces
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	folder, err := os.MkdirTemp("", "nanoclaw-demo-")
	if err != nil {
		return fmt.Errorf("make a folder for the demonstration: %w", err)
	}
	d.closing(func() error { return os.RemoveAll(folder) })
	if d.checks, err = sandbox.Probe(ctx, cfg.Sandbox, true); err != nil {
		return err
	}
	if len(d.Missing()) > 0 {
		d.tools = slices.DeleteFunc(d.tools, func(tool string) bool { return tool == toolRunCode })
	}
	site, engine, err := d.web()
	if err != nil {
		return err
	}
	model, err := d.model()
	if err != nil {
		return err
	}
	d.traces = cfg.Telemetry
	cfg.DataDir = folder
	cfg.HTTP.Addr, cfg.GRPC.Addr, cfg.Admin.Addr = loopback, loopback, loopback
	cfg.Netguard.Allow = []string{site}
	cfg.Search.Adapter, cfg.Search.Bing.BaseURL = "bing", "http://"+engine
	cfg.Models = append(cfg.Models[:0], model)
	cfg.DefaultModel = model.ID
	cfg.Tools.Enabled, cfg.Tools.AutoApprove, cfg.Tools.MaxIterations = d.tools, []string{toolRunCode}, maxRounds
	d.suite, err = suite.Start(ctx, cfg, suite.Options{Listen: true, Logger: o.Logger, Version: o.Version, Telemetry: o.Telemetry})
	if err != nil {
		return err
	}
	d.closing(func() error {
		stop, cancel := context.WithTimeout(context.Background(), stopTime)
		defer cancel()
		return d.suite.Stop(stop)
	})
	return nil
}

// Close ends the demonstration and removes what it kept.
func (d *Demo) Close() error {
	var errs []error
	for _, end := range slices.Backward(d.closes) {
		errs = append(errs, end())
	}
	d.closes = nil
	return errors.Join(errs...)
}

func (d *Demo) closing(end func() error) { d.closes = append(d.closes, end) }

// web serves the site and the search engine, and gives their addresses.
func (d *Demo) web() (site, engine string, err error) {
	all, err := pages()
	if err != nil {
		return "", "", err
	}
	if site, err = d.serve(siteHandler(all)); err != nil {
		return "", "", err
	}
	engine, err = d.serve(searchHandler("http://"+site, all))
	return site, engine, err
}

func (d *Demo) serve(h http.Handler) (addr string, err error) {
	const headerTime = 10 * time.Second
	lis, err := net.Listen("tcp", loopback)
	if err != nil {
		return "", fmt.Errorf("listen for the demonstration: %w", err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: headerTime}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(lis) // returns when it is closed
	}()
	d.closing(func() error {
		err := server.Close()
		<-served
		return err
	})
	return lis.Addr().String(), nil
}

// model plays the script. Without a sandbox it is one that runs no program.
func (d *Demo) model() (orchestrator.ModelConfig, error) {
	script, err := modelserver.Parse(modelScript)
	if err != nil {
		return orchestrator.ModelConfig{}, fmt.Errorf("the script of the demonstration: %w", err)
	}
	if !slices.Contains(d.tools, toolRunCode) {
		withoutCode(&script.Turns[0])
	}
	running, err := modelserver.Listen(loopback, script)
	if err != nil {
		return orchestrator.ModelConfig{}, err
	}
	d.closing(running.Close)
	return orchestrator.ModelConfig{ID: "scripted-demo", Name: "Script of the demonstration", APIURL: running.URL}, nil
}

// withoutCode takes the program out of a turn, and what the answer says of it.
func withoutCode(turn *modelserver.Turn) {
	turn.Replies = slices.DeleteFunc(turn.Replies, func(r modelserver.Reply) bool {
		return slices.ContainsFunc(r.Steps, func(s modelserver.Step) bool { return s.Call != nil && s.Call.Name == toolRunCode })
	})
	answer := &turn.Replies[len(turn.Replies)-1].Steps[0]
	answer.Text, _, _ = strings.Cut(answer.Text, " and had a program")
	answer.Text += "; this machine has no sandbox for a program that counts their words.\n"
}

// Missing is what a program would need here and does not find; empty when it
// finds all. Each has the fix.
func (d *Demo) Missing() []*sandboxv1.Capability {
	return slices.DeleteFunc(slices.Clone(d.checks.GetChecks()), func(c *sandboxv1.Capability) bool {
		return c.GetOk() || !c.GetRequired() && c.GetName() != "python"
	})
}

// Tools are the tools that the model is going to call, in their order.
func (d *Demo) Tools() []string { return d.tools }

// Conn leads to the services; its calls are for [Demo.Owner].
func (d *Demo) Conn() grpc.ClientConnInterface { return d.suite.Conn() }

// Owner is the user of the demonstration.
func (d *Demo) Owner() auth.Principal { return d.suite.Owner() }

// TracesTo is the collector that traces go to; empty: to none.
func (d *Demo) TracesTo() string {
	if d.traces.Exporter != telemetry.ExporterOTLP {
		return ""
	}
	return d.traces.OTLPEndpoint
}

// URL is the address of the web app, with its token.
func (d *Demo) URL() string { return d.suite.URL() }

// Done is closed when something ends the services.
func (d *Demo) Done() <-chan struct{} { return d.suite.Done() }
