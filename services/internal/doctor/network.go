package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
)

// askTime is how long whoever has a port of ours may take to say who it is.
const askTime = 2 * time.Second

// search looks the engines up that a search asks; nothing is asked of them. An
// engine of the web that is not found is a machine without a network, on which
// everything but searching works; one that somebody named is a mistake.
func (x *examination) search(ctx context.Context) []Finding {
	engines, err := x.cfg.Search.Engines()
	if err != nil {
		return failed("correct search.adapter", "%s", said(err))
	}
	var all []Finding
	for i, e := range engines {
		f := Finding{Check: "search " + e.Engine, Level: OK}
		host := e.URL
		if u, err := url.Parse(e.URL); err == nil {
			host = u.Hostname()
		}
		if _, err := x.lookup(ctx, host); err != nil {
			f.Level, f.Message = Failed, fmt.Sprintf("%s does not resolve: %v", host, err)
			f.Fix = fmt.Sprintf("see that this machine reaches the internet and its name server, or set search.%s.base_url", e.Section)
			switch {
			case !e.Moved:
				f.Level = Warning
				f.Message += "; searching the web needs the network, everything else works without"
			case i > 0: // asked only when those before it cannot answer
				f.Level = Warning
			}
		} else {
			f.Message = fmt.Sprintf("%s resolves; it was not asked anything", host)
		}
		all = append(all, f)
	}
	return all
}

func (x *examination) netguard(context.Context) []Finding {
	allow := x.cfg.Netguard.Allow
	if _, err := netguard.New(netguard.Config{Allow: allow}); err != nil {
		return failed("correct netguard.allow", "%v", err)
	}
	if len(allow) > 0 {
		return warning("remove what nobody needs from netguard.allow",
			"models and users reach these addresses, though they are not public: %s", strings.Join(allow, ", "))
	}
	return ok("only public addresses are fetched")
}

// ports are the addresses that a server here takes.
func (x *examination) ports() []check {
	var all []check
	for _, p := range []struct {
		key, addr string
		ours      func(context.Context, string) bool
		local     bool
	}{
		{"http.addr", x.cfg.HTTP.Addr, isOurHTTP, false},
		{"grpc.addr", x.cfg.GRPC.Addr, x.isOurGRPC, false},
		{"admin.addr", x.cfg.Admin.Addr, isOurAdmin, true},
		{"admin.metrics_addr", x.cfg.Admin.MetricsAddr, isOurAdmin, false},
	} {
		if p.addr == "" {
			continue
		}
		all = append(all, check{"port " + p.key, func(ctx context.Context) []Finding {
			if host, _, err := net.SplitHostPort(p.addr); p.local && (err != nil || !isLoopback(host)) {
				return failed("set "+p.key+" to an address such as 127.0.0.1:3002", "%s is reached from other machines, and a server refuses that", p.addr)
			}
			return x.port(ctx, p.key, p.addr, p.ours)
		}})
	}
	return all
}

func (x *examination) port(ctx context.Context, key, addr string, ours func(context.Context, string) bool) []Finding {
	lis, err := net.Listen("tcp", addr)
	if err == nil {
		_ = lis.Close()
		return ok("%s is free", addr)
	}
	fix := "choose another address for " + key
	if !errors.Is(err, syscall.EADDRINUSE) {
		return failed(fix, "%s cannot be listened on: %v", addr, err)
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	if !ours(ctx, addr) {
		return failed("stop that program, or "+fix, "%s is in use by another program", addr)
	}
	if holder, err := store.Holder(x.cfg.DataDir); err == nil && holder != 0 {
		return ok("%s is in use by a running nanoclaw", addr)
	}
	return warning(fix+", to run a second one here", "%s is in use by a nanoclaw with another data folder", addr)
}

func isOurHTTP(ctx context.Context, addr string) bool {
	var answer struct {
		Data struct {
			Status string `json:"status"`
		} `json:"data"`
	}
	return json.Unmarshal(get(ctx, "http://"+addr+"/healthz"), &answer) == nil && answer.Data.Status == "ok"
}

func isOurAdmin(ctx context.Context, addr string) bool {
	return strings.Contains(string(get(ctx, "http://"+addr+"/metrics")), "nanoclaw")
}

func (x *examination) isOurGRPC(ctx context.Context, addr string) bool {
	conn, err := rpc.Dial(addr, rpc.DialConfig{TLS: x.cfg.TLS.RPC()})
	if err != nil {
		return false
	}
	defer conn.Close()
	_, err = grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	return err == nil
}

// get reads the beginning of a page; nil when there is none.
func get(ctx context.Context, address string) []byte {
	const most = 256 << 10
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil
	}
	return text
}

func (x *examination) traces(ctx context.Context) []Finding {
	t := x.cfg.Telemetry
	if t.Exporter != "otlp" {
		return ok("exporter %s", t.Exporter)
	}
	addr := t.OTLPEndpoint
	if u, err := url.Parse(addr); err == nil && u.Host != "" {
		addr = u.Host
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return warning("start the collector, or correct telemetry.otlp_endpoint; until then traces are lost", "nothing takes traces at %s: %v", addr, err)
	}
	_ = conn.Close()
	return ok("go to %s", addr)
}
