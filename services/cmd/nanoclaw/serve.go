package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/gcpace"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/telemetry"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
)

// drainTime is how long a server that was asked to end may take to finish or
// hand back its work.
const drainTime = 30 * time.Second

func (c *cli) serveCommand() *cobra.Command {
	s := settings{serving: true}
	var noToken bool
	cmd := &cobra.Command{
		Use: "serve [target...]", Short: "Run the services",
		Long: `Run the services in this process and print the address of the web app.

Ctrl+C or SIGTERM once finishes or hands back what is going on, twice leaves at
once.`,
		RunE: func(cmd *cobra.Command, targets []string) error {
			cfg, err := c.load(cmd, &s, nil)
			if err != nil {
				return err
			}
			return c.serve(cfg, targets, noToken)
		},
	}
	s.addSettings(cmd, slices.Concat(listenFlags, []settingFlag{
		{"log-level", "log.level", "debug, info, warn or error"},
		{"log-format", "log.format", "text or json"},
	})...)
	cmd.Flags().BoolVar(&noToken, "no-token", false, "let everybody at this machine in without a token (loopback addresses only)")
	return cmd
}

func (c *cli) serve(cfg suite.Config, targets []string, noToken bool) error {
	began := time.Now()
	logger, err := c.logger(cfg.Log)
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, endSignals()...)
	defer signal.Stop(signals)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	type started struct {
		suite *suite.Suite
		err   error
	}
	start := make(chan started, 1)
	go func() {
		s, err := suite.Start(ctx, cfg, suite.Options{
			Targets: targets, Listen: true, NoToken: noToken, Logger: logger, Version: thisBuild().Version,
		})
		start <- started{s, err}
	}()
	var running *suite.Suite
	select {
	case at := <-start:
		if at.err != nil {
			return at.err
		}
		running = at.suite
	case <-signals:
		cancel()
		if at := <-start; at.suite != nil {
			return c.drain(at.suite, signals)
		}
		return errInterrupted
	}

	at := running.URL()
	if at == "" {
		at = strings.Join(running.Serves(), ", ")
	}
	_, _ = fmt.Fprintf(c.stdout, "nanoclaw is ready: %s (gRPC %s, in %.2f s)\n", at, running.GRPCAddr(), time.Since(began).Seconds())
	paced := make(chan struct{})
	go func() {
		defer close(paced)
		gcpace.Run(ctx)
	}()
	defer func() { cancel(); <-paced }()
	if len(cfg.Models) == 0 && slices.Contains(running.Serves(), suite.TargetOrchestrator) {
		_, _ = fmt.Fprintln(c.stdout, "no model is configured: everything but chat works; \"nanoclaw chat\" says how to set one")
	}
	select {
	case <-running.Done():
		return errors.Join(running.Err(), c.drain(running, signals))
	case <-signals:
		c.note("ending: finishing or handing back what is going on; once more to leave at once")
		return c.drain(running, signals)
	}
}

// drain stops the suite; a further signal leaves it behind.
func (c *cli) drain(s *suite.Suite, signals <-chan os.Signal) error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(ctx) }()
	select {
	case err := <-stopped:
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("some work did not end within %s and was cut off; it goes on at the next start", drainTime)
		}
		return err
	case <-signals:
		return errInterrupted
	}
}

func (c *cli) logger(cfg suite.LogConfig) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Level)); err != nil {
		return nil, fmt.Errorf("log.level: %w", err)
	}
	return telemetry.NewLogger(c.stderr, level, cfg.Format)
}

// endSignals are those that ask a process to end: Ctrl+C, SIGTERM, and the end of
// the terminal, unless nohup had that ignored.
func endSignals() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// interruptible is a context that the first of endSignals ends; a second one ends
// the process in the usual way.
func (c *cli) interruptible() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), endSignals()...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
