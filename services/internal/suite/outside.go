package suite

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"net/url"
	"strings"
	"syscall"

	"google.golang.org/grpc"

	"github.com/nanoclaw/nanoclaw/services/gateway"
)

// listeners are what is served to the outside.
type listeners struct{ http, grpc, admin, metrics net.Listener }

func (l *listeners) close() {
	for _, one := range []net.Listener{l.http, l.grpc, l.admin, l.metrics} {
		if one != nil {
			_ = one.Close() // closed by its server already, as a rule
		}
	}
}

// listen takes the ports before anything else is done, so that a port in use
// changes nothing.
func (s *Suite) listen() error {
	for _, l := range []struct {
		key, addr string
		to        *net.Listener
	}{
		{"http.addr", s.cfg.HTTP.Addr, &s.listeners.http},
		{"grpc.addr", s.cfg.GRPC.Addr, &s.listeners.grpc},
		{adminKey, s.cfg.Admin.Addr, &s.listeners.admin},
	} {
		if l.key == "http.addr" && !s.local[TargetGateway] {
			continue
		}
		if s.opt.NoToken && !loopback(l.addr) {
			return notWithoutToken(l.key, l.addr)
		}
		lis, err := net.Listen("tcp", l.addr)
		if err != nil {
			return listenError(l.key, l.addr, err)
		}
		*l.to = lis
	}
	return s.listenMetrics()
}

func listenError(key, addr string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		flag := "--" + strings.ReplaceAll(key, ".", "-")
		return fmt.Errorf("%s: %s is in use by another program; stop it, or choose another address with %s: %w", key, addr, flag, syscall.EADDRINUSE)
	}
	return fmt.Errorf("%s: cannot listen on %s: %w", key, addr, err)
}

func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	return err == nil && loopbackHost(host)
}

func loopbackHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

// serveOutside serves HTTP, gRPC and the admin port.
func (s *Suite) serveOutside(ctx context.Context) error {
	if s.local[TargetGateway] {
		if err := s.newGateway(ctx); err != nil {
			return err
		}
		s.serveHTTP(s.listeners.http, s.gateway.Handler())
	}
	s.running.Go(func() { s.fail(s.main.ServeTCP(s.listeners.grpc)) })
	s.serveHTTP(s.listeners.admin, s.adminHandler())
	s.serveMetrics()
	return nil
}

func (s *Suite) newGateway(ctx context.Context) (err error) {
	cfg := gateway.DefaultConfig()
	cfg.ListenAddr, cfg.AllowedHosts, cfg.Version = s.HTTPAddr(), s.cfg.HTTP.AllowedHosts, s.opt.Version
	cfg.MaxUploadBytes = int64(s.cfg.HTTP.MaxUploadMiB) << 20
	deps := gateway.Deps{Logger: s.log, Tokens: s.tokens}
	for to, conn := range map[string]*grpc.ClientConnInterface{
		TargetOrchestrator: &deps.Orchestrator, TargetSearch: &deps.Search, TargetFetcher: &deps.Fetcher,
		TargetTaskManager: &deps.TaskManager, TargetSandbox: &deps.Sandbox,
	} {
		if *conn, err = s.reach(TargetGateway, to); err != nil {
			return err
		}
	}
	if s.opt.NoToken {
		owner := s.Owner()
		deps.Anonymous = &owner
	}
	s.gateway, err = gateway.New(ctx, cfg, deps)
	return err
}

func (s *Suite) serveHTTP(lis net.Listener, h http.Handler) {
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		Protocols: new(http.Protocols),
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	s.servers = append(s.servers, server)
	s.running.Go(func() { s.fail(server.Serve(lis)) })
}

// adminHandler has what operators need: metrics, profiles, and reflection for
// gRPC tools.
func (s *Suite) adminHandler() http.Handler {
	reflection := grpc.NewServer()
	s.main.RegisterReflection(reflection)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metrics)
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopbackHost((&url.URL{Host: r.Host}).Hostname()) {
			// A name that somebody bound to this machine (DNS rebinding): a page in
			// a browser must not read the memory of this process.
			http.Error(w, "the admin port answers for loopback names only, such as 127.0.0.1", http.StatusMisdirectedRequest)
			return
		}
		if r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			reflection.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// HTTPAddr is where HTTP is served; empty when it is not.
func (s *Suite) HTTPAddr() string { return addrOf(s.listeners.http) }

// GRPCAddr is where gRPC is served; empty when it is not.
func (s *Suite) GRPCAddr() string { return addrOf(s.listeners.grpc) }

// AdminAddr is where metrics, profiles and reflection are served; empty when
// they are not.
func (s *Suite) AdminAddr() string { return addrOf(s.listeners.admin) }

func addrOf(l net.Listener) string {
	if l == nil {
		return ""
	}
	return l.Addr().String()
}

// URL is the address of the web app, with the token for this machine if it is
// known here; empty when there is no gateway.
func (s *Suite) URL() string {
	u := url.URL{Scheme: "http", Host: s.HTTPAddr(), Path: "/"}
	if s.listeners.http == nil {
		return ""
	}
	if !s.opt.NoToken && s.orchestrator != nil {
		u.RawQuery = url.Values{"token": {s.orchestrator.LocalToken()}}.Encode()
	}
	return u.String()
}
