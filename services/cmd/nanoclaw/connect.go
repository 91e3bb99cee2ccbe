package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/telemetry"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
)

const (
	// stopTime is how long what was started in the process may take to end.
	stopTime = 10 * time.Second
	// localTokenFile is where a server keeps the token for people at its machine.
	localTokenFile = "local.token"
)

// asOwner is what commands start in the process that keep something of the owner:
// the orchestrator alone knows the owner, so that a server on the data folder has
// the same tasks and files later. What it calls is started with it.
const asOwner = suite.TargetOrchestrator

// peerFlags say which server a command talks to.
type peerFlags struct {
	settings

	server, token string
	timeout       time.Duration
	verbose       bool
	// beside leads to the server on the data folder, when there is one that
	// searches itself, although this process could do it, too: what is asked for
	// is in that server.
	beside bool
}

// addPeer gives a command the flags of connect.
func (p *peerFlags) addPeer(cmd *cobra.Command, more ...settingFlag) {
	p.addSettings(cmd, more...)
	f := cmd.Flags()
	f.StringVar(&p.server, "server", "", "gRPC address of a running server (or NANOCLAW_SERVER); without it what is needed runs in this process")
	f.StringVar(&p.token, "token", "", "API token for --server (better: NANOCLAW_TOKEN, which no process list shows)")
	f.Var((*span)(&p.timeout), "timeout", "give up after this time, such as 30s (default: no limit)")
	f.BoolVarP(&p.verbose, "verbose", "v", false, "show the log of what runs in this process")
}

// bound ends ctx after --timeout, if there is one.
func (p *peerFlags) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if p.timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, p.timeout)
}

// peer is where a command's calls go.
type peer struct {
	grpc.ClientConnInterface
	close func() error
	// unreachable says what it means that nobody answers there; empty in the
	// process.
	unreachable string
	// tokenless says what to do when it asks for a token and none was given.
	tokenless string
}

// explain gives the failure of a call the words of this peer.
func (p *peer) explain(err error) error {
	s, ok := status.FromError(err)
	switch {
	case err == nil || !ok || p.unreachable == "":
		return err
	case s.Code() == codes.Unauthenticated && p.tokenless != "":
		return &exitError{exitDenied, errors.New(p.tokenless)}
	case rpcerr.Reason(err) != "":
		return err
	case s.Code() == codes.Unavailable:
		return fmt.Errorf("%s (%s)", p.unreachable, dialProblem(s.Message()))
	}
	return err
}

// dialProblem is what the network said, without what gRPC puts around it.
func dialProblem(message string) string {
	switch {
	case strings.Contains(message, "unexpected HTTP status code"):
		return "what answers there speaks HTTP and not gRPC"
	case strings.Contains(message, "no children to pick from"), strings.Contains(message, "produced zero addresses"):
		return "its name leads to no address"
	}
	if _, inner, found := strings.Cut(message, "Error while dialing: "); found {
		return strings.TrimSuffix(inner, `"`)
	}
	return message
}

// connect leads to the server that was named, else to the targets started in
// this process. When another process owns the data folder, it is the server.
func (c *cli) connect(ctx context.Context, cmd *cobra.Command, p *peerFlags, targets ...string) (*peer, error) {
	server := p.server
	if server == "" {
		server = c.getenv("NANOCLAW_SERVER")
	}
	if server != "" {
		token := p.token
		if token == "" {
			token = c.getenv("NANOCLAW_TOKEN")
		}
		to, err := dial(server, strings.TrimSpace(token),
			fmt.Sprintf("server %s does not answer: is it running, and is this its gRPC address?", server))
		if err == nil && token == "" { // one that was started with --no-token asks for none
			to.tokenless = fmt.Sprintf("server %s asks for a token: set NANOCLAW_TOKEN; \"nanoclaw token create NAME\" on its machine makes one", server)
		}
		return to, err
	}
	cfg, err := c.load(cmd, &p.settings, nil)
	if err != nil {
		return nil, err
	}
	if owner := store.OwnerPID(cfg.DataDir); p.beside && cfg.Services.Search == "" && slices.Contains(serverCommands, commandOf(owner)) {
		return besideServer(cfg, &store.LockedError{Dir: cfg.DataDir, PID: owner})
	}
	logger := slog.New(slog.DiscardHandler)
	if p.verbose {
		if logger, err = telemetry.NewLogger(c.stderr, slog.LevelDebug, cfg.Log.Format); err != nil {
			return nil, err
		}
	}
	s, err := suite.Start(ctx, cfg, suite.Options{Targets: targets, Logger: logger, Version: thisBuild().Version})
	var locked *store.LockedError
	if errors.As(err, &locked) {
		return besideServer(cfg, locked)
	}
	if err != nil {
		return nil, err
	}
	return &peer{ClientConnInterface: ownConn{s.Conn(), s.Owner()}, close: func() error {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		return s.Stop(stop)
	}}, nil
}

func dial(server, token, unreachable string) (*peer, error) {
	conn, err := rpc.Dial(server, rpc.DialConfig{Token: token})
	if err != nil {
		return nil, usagef("server %s: %w", server, err)
	}
	return &peer{ClientConnInterface: conn, close: conn.Close, unreachable: unreachable}, nil
}

// besideServer talks to the process that owns the data folder, with the token
// that it keeps there for people at this machine.
func besideServer(cfg suite.Config, locked *store.LockedError) (*peer, error) {
	if command := commandOf(locked.PID); command != "" && !slices.Contains(serverCommands, command) {
		return nil, fmt.Errorf("data folder %s is in use by \"nanoclaw %s\" (pid %d), which takes no calls of others: wait until it has ended, "+
			"or start \"nanoclaw serve\" first, and every command goes to that", cfg.DataDir, command, locked.PID)
	}
	token, err := os.ReadFile(filepath.Join(cfg.DataDir, localTokenFile))
	if err != nil {
		return nil, fmt.Errorf("%w; its token for this machine cannot be read: %w", locked, pathReason(err))
	}
	addr := nearby(cfg.GRPC.Addr)
	return dial(addr, strings.TrimSpace(string(token)), fmt.Sprintf("data folder %s is in use by another nanoclaw (pid %d), "+
		"which does not answer at %s: name its gRPC address with --server, or stop it", cfg.DataDir, locked.PID, addr))
}

// serverCommands take calls of others.
var serverCommands = []string{"serve", "demo"}

// commandOf is the command of a nanoclaw that runs at this machine; empty when it
// cannot be told.
func commandOf(pid int) string {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	words := strings.Split(string(line), "\x00")
	if len(words) < 2 || !commandName.MatchString(words[1]) {
		return ""
	}
	return words[1]
}

// commandName is how commands are called, which flags and paths are not.
var commandName = regexp.MustCompile(`^[a-z]+$`)

// nearby is where a server that listens at addr is reached from its own machine:
// one that listens everywhere, such as at :3001 in a container, over loopback.
func nearby(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip, parsing := netip.ParseAddr(host); err == nil && (host == "" || parsing == nil && ip.IsUnspecified()) {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return addr
}

// ownConn makes every call for the owner of the deployment.
type ownConn struct {
	grpc.ClientConnInterface
	owner auth.Principal
}

func (o ownConn) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	return o.ClientConnInterface.Invoke(auth.NewContext(ctx, o.owner), method, args, reply, opts...)
}

func (o ownConn) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return o.ClientConnInterface.NewStream(auth.NewContext(ctx, o.owner), desc, method, opts...)
}

// call connects, does one thing within --timeout and closes. Ctrl+C ends it.
func (c *cli) call(cmd *cobra.Command, p *peerFlags, targets []string, do func(context.Context, *peer) error) (err error) {
	ctx, stop := c.interruptible()
	defer stop()
	ctx, cancel := p.bound(ctx)
	defer cancel()
	to, err := c.connect(ctx, cmd, p, targets...)
	if err != nil {
		return p.timedOut(ctx, err)
	}
	defer func() {
		if closing := to.close(); err == nil {
			err = closing
		}
	}()
	return p.timedOut(ctx, to.explain(do(ctx, to)))
}

// timedOut is err, or what the end of ctx makes of it.
func (p *peerFlags) timedOut(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &exitError{exitTimeout, fmt.Errorf("timed out after %s: give it more time with --timeout", p.timeout)}
	case ctx.Err() != nil:
		return errInterrupted
	}
	return err
}
