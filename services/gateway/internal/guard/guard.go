package guard

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/gateway/internal/envelope"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
)

// Config of a guard.
type Config struct {
	// Hosts are names or addresses, without port, that requests may be made
	// for, besides the loopback ones.
	Hosts []string
	// Tokens knows whom a token stands for.
	Tokens *auth.TokenCache
	// Anonymous is who requests without a token are made for; nil: they are
	// refused.
	Anonymous *auth.Principal
	// Open says that a request needs no token.
	Open func(*http.Request) bool
	// Page says that a request is for an HTML page, which may be opened by a
	// link with ?token=.
	Page func(*http.Request) bool
	// BadLink answers a link whose token is not valid.
	BadLink func(http.ResponseWriter, *http.Request, envelope.Problem)
}

// Guard checks requests.
type Guard struct {
	cfg    Config
	hosts  map[string]bool
	origin *http.CrossOriginProtection
}

// New makes a guard.
func New(cfg Config) (*Guard, error) {
	g := &Guard{cfg: cfg, hosts: make(map[string]bool), origin: http.NewCrossOriginProtection()}
	for _, h := range cfg.Hosts {
		name := hostName(h)
		if name == "" || strings.ContainsAny(h, "/*@ ") {
			return nil, fmt.Errorf("allowed host %q: must be a host name or an address", h)
		}
		g.hosts[name] = true
	}
	return g, nil
}

// Handler lets through to next what may pass. The context of such a request
// holds its principal, if there is one, and the headers hold no token any more.
func (g *Guard) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.hostAllowed(r.Host) {
			envelope.New(http.StatusMisdirectedRequest, "HOST_NOT_ALLOWED",
				"this server does not answer for host %q: add it to the allowed hosts of the gateway if it should", clip(r.Host)).Write(w, r)
			return
		}
		if g.origin.Check(r) != nil {
			envelope.New(http.StatusForbidden, "CROSS_ORIGIN",
				"a page of another origin may not do this").Write(w, r)
			return
		}
		if g.isLink(r) {
			g.signIn(w, r)
			return
		}
		if g.cfg.Open(r) {
			dropCredentials(r.Header)
			next.ServeHTTP(w, r)
			return
		}
		p, problem, ok := g.principal(r)
		if !ok {
			refuse(w, r, problem)
			return
		}
		dropCredentials(r.Header)
		next.ServeHTTP(w, r.WithContext(auth.NewContext(r.Context(), p)))
	})
}

func (g *Guard) hostAllowed(host string) bool {
	name := hostName(host)
	if name == "localhost" || g.hosts[name] {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}

// hostName is the host of "host", "host:port" or "[v6]:port", in lower case and
// without the root dot.
func hostName(hostport string) string {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// ListenHosts are the hosts that a server listening on addr answers for: the
// one in addr, or none when that is empty or stands for all interfaces.
func ListenHosts(addr string) []string {
	name := hostName(addr)
	if ip, err := netip.ParseAddr(name); name == "" || (err == nil && ip.IsUnspecified()) {
		return nil
	}
	return []string{name}
}

// IsLoopback says that a server listening on addr can be reached from this
// machine only.
func IsLoopback(addr string) bool {
	name := hostName(addr)
	if name == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap().IsLoopback()
}

// Strip removes the headers from outside that only our own processes may send:
// gRPC metadata, identity, and baggage, which would travel on to every service.
// Whom a proxy saw is not believed either.
func Strip(h http.Header) {
	for name := range h {
		lower := strings.ToLower(name)
		switch {
		case strings.HasPrefix(lower, "grpc-"),
			strings.HasPrefix(lower, "grpcgateway-"),
			strings.HasPrefix(lower, auth.MetadataPrefix),
			strings.HasPrefix(lower, "x-forwarded-"),
			lower == "baggage", lower == "forwarded":
			delete(h, name)
		}
	}
}

// dropCredentials keeps a caller's token from going any further: the runtime
// would pass Authorization on to the services.
func dropCredentials(h http.Header) {
	h.Del("Authorization")
	h.Del("Cookie")
}

// clip keeps what a caller wrote short enough to be repeated to them.
func clip(s string) string {
	const most = 100
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
