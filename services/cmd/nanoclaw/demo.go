package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/follow"
	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/transcript"
	"github.com/nanoclaw/nanoclaw/services/internal/demo"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/telemetry"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
)

// demoTime bounds the turn of the demonstration on the slowest machine.
const demoTime = 5 * time.Minute

// demoFlags are what demo can be told.
type demoFlags struct{ asJSON, serve, verbose bool }

func (c *cli) demoCommand() *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use: "demo", Short: "Show everything at work, without a key and without a network", Args: exactly(0),
		Long: `Ask one question whose answer takes every kind of tool: a search, a page, a crawl
and a program in a sandbox. The search engine, the web site and the model are on
this machine, so neither a key nor a network is needed. Only the words of the
model are scripted; what the tools do is what they do for any other question.

Nothing is kept: the data folder is a temporary one, and config.yml is not read.
Settings of the sandbox and of traces are taken from the environment, such as
NANOCLAW_TELEMETRY_EXPORTER=otlp.

Exit code 0 when every tool worked, and 5 when this machine lacks the sandbox: then
the other tools are shown, with what is missing and how to install it.`,
		RunE: func(*cobra.Command, []string) error { return c.demo(f) },
	}
	fs := cmd.Flags()
	fs.BoolVar(&f.asJSON, "json", false, "print one JSON document")
	fs.BoolVar(&f.serve, "serve", false, "leave everything running, and print the address of the web app")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "show the log of the services")
	return cmd
}

// demo starts everything, asks the question and says how it went.
func (c *cli) demo(f demoFlags) (err error) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, endSignals()...)
	defer signal.Stop(signals)
	ctx, stop := context.WithTimeout(context.Background(), demoTime)
	defer stop()
	interrupted := interrupts(ctx, signals)

	began := time.Now()
	running, err := c.startDemo(ctx, f, interrupted)
	if err != nil {
		return err
	}
	defer func() {
		if closing := running.Close(); err == nil {
			err = closing
		}
	}()
	view := c.newDemoView(f.asJSON, began)
	view.introduce(running)
	said, err := c.askDemo(ctx, running, view, interrupted)
	if err != nil {
		return err
	}
	outcome := newDemoOutcome(running, said, f.serve)
	if err := view.conclude(outcome); err != nil {
		return err
	}
	if f.serve {
		stop() // the bound is that of the turn
		if err := c.serveDemo(running, signals); err != nil {
			return err
		}
	}
	return outcome.exit()
}

// startDemo starts the demonstration with what the environment says of the
// sandbox and of traces.
func (c *cli) startDemo(ctx context.Context, f demoFlags, interrupted <-chan struct{}) (*demo.Demo, error) {
	cfg, _, err := suite.Load(suite.LoadOptions{Env: c.env})
	if err != nil {
		return nil, err
	}
	o := demo.Options{Sandbox: &cfg.Sandbox, Traces: &cfg.Telemetry, Version: thisBuild().Version}
	if f.verbose {
		if o.Logger, err = telemetry.NewLogger(c.stderr, slog.LevelDebug, cfg.Log.Format); err != nil {
			return nil, err
		}
	}
	type started struct {
		demo *demo.Demo
		err  error
	}
	ctx, stop := context.WithCancel(ctx)
	done := make(chan started, 1)
	go func() {
		d, err := demo.Start(ctx, o)
		done <- started{d, err}
	}()
	select {
	case at := <-done:
		context.AfterFunc(ctx, stop)
		return at.demo, at.err
	case <-interrupted:
		stop()
		if at := <-done; at.demo != nil {
			_ = at.demo.Close() // the interruption is what there is to say
		}
		return nil, errInterrupted
	}
}

// askDemo asks the question and follows its run to the end.
func (c *cli) askDemo(ctx context.Context, running *demo.Demo, view *demoView, interrupted <-chan struct{}) (*transcript.Transcript, error) {
	conn := ownConn{running.Conn(), running.Owner()}
	conversations := orchestratorv1.NewConversationServiceClient(conn)
	made, err := conversations.CreateConversation(ctx, &orchestratorv1.CreateConversationRequest{})
	if err != nil {
		return nil, err
	}
	f := follow.Follower{
		Conversations: conversations, Runs: orchestratorv1.NewRunServiceClient(conn), Interrupts: interrupted,
		Seen: view.seen, Note: func(text string) { c.note("%s", text) },
	}
	said, err := f.Ask(ctx, &orchestratorv1.StreamMessageRequest{ConversationId: made.GetConversation().GetId(), Content: demo.Question})
	view.endLine()
	switch {
	case errors.Is(err, follow.ErrLeft), err == nil && f.Interrupted:
		return nil, errInterrupted
	case errors.Is(err, context.DeadlineExceeded):
		return nil, &exitError{exitTimeout, fmt.Errorf("the demonstration did not end within %s", demoTime)}
	case err != nil:
		return nil, err
	case said.Failed != nil:
		return nil, fmt.Errorf("the run failed: %s", failedWords(said.Failed))
	}
	return said, nil
}

// serveDemo leaves the demonstration running until a signal.
func (c *cli) serveDemo(running *demo.Demo, signals <-chan os.Signal) error {
	c.note("running; Ctrl+C ends it and removes what it kept")
	select {
	case <-signals:
		return nil
	case <-running.Done():
		return errors.New("the services ended by themselves: see --verbose")
	}
}
