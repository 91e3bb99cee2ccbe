package netguard

import (
	"crypto/tls"
	"net/http"
	"time"
)

// TransportOptions adjusts Guard.Transport; every zero value has a default.
type TransportOptions struct {
	// TLS is used for https, for example with root certificates of a test. The
	// transport clones it.
	TLS *tls.Config
	// ResponseHeaderTimeout is the wait for the first response byte after the
	// request was written; 15 s.
	ResponseHeaderTimeout time.Duration
	// MaxConnsPerHost bounds connections, dialling ones included; no bound.
	MaxConnsPerHost int
}

// Transport returns a transport that reaches the network through the guard
// alone: no proxy (the guard would see the proxy's address, not the target's),
// no other protocol registered, HTTP/1.1 and HTTP/2 only; net/http ignores
// Alt-Svc, so there is no HTTP/3. Bodies arrive as they were sent, for the
// caller to decode under its own size limit. Pooled connections are reused by
// name: each was checked when it was dialled. Pair it with CheckRedirect; the
// caller closes idle connections at the end.
func (g *Guard) Transport(opts TransportOptions) *http.Transport {
	if opts.ResponseHeaderTimeout == 0 {
		opts.ResponseHeaderTimeout = responseHeaderTimeout
	}
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            g.DialContext,
		TLSClientConfig:        opts.TLS.Clone(),
		TLSHandshakeTimeout:    tlsHandshakeTimeout,
		ResponseHeaderTimeout:  opts.ResponseHeaderTimeout,
		IdleConnTimeout:        idleConnTimeout,
		MaxIdleConns:           maxIdleConns,
		MaxIdleConnsPerHost:    maxIdleConnsPerHost,
		MaxConnsPerHost:        opts.MaxConnsPerHost,
		MaxResponseHeaderBytes: maxResponseHeaderBytes,
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
	}
}
