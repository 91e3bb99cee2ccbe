package rpc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"
)

// reloadingTLS are transport credentials that follow their files.
type reloadingTLS struct {
	cfg  TLSConfig
	load func() (*tls.Config, error)
	log  *slog.Logger
	loud *oncePerPeer

	mu      sync.Mutex
	stamps  []fileStamp // of the files when they were last read
	current credentials.TransportCredentials
}

type fileStamp struct {
	modified time.Time
	size     int64
}

func newReloadingTLS(cfg TLSConfig, load func() (*tls.Config, error), log *slog.Logger) (*reloadingTLS, error) {
	loud, err := newOncePerPeer()
	if err != nil {
		return nil, err
	}
	r := &reloadingTLS{cfg: cfg, load: load, log: log, loud: loud, stamps: cfg.stamps()}
	config, err := load()
	if err != nil {
		return nil, err
	}
	r.current = credentials.NewTLS(config)
	return r, nil
}

// stamps are taken before the files are read, so that a change in between is
// seen the next time.
func (c TLSConfig) stamps() []fileStamp {
	var all []fileStamp
	for _, path := range []string{c.CertFile, c.KeyFile, c.ClientCAFile, c.CAFile} {
		var s fileStamp
		if info, err := os.Stat(path); err == nil {
			s = fileStamp{info.ModTime(), info.Size()}
		}
		all = append(all, s)
	}
	return all
}

func (r *reloadingTLS) now() credentials.TransportCredentials {
	r.mu.Lock()
	defer r.mu.Unlock()
	stamps := r.cfg.stamps()
	if slices.Equal(stamps, r.stamps) {
		return r.current
	}
	r.stamps = stamps
	config, err := r.load()
	if err != nil { // half of a change may be all that there is yet
		r.log.Warn("the TLS files have changed and are wrong; the former ones stay in use", slog.Any("error", err))
		return r.current
	}
	r.log.Info("the TLS files have changed and are read again", slog.String("cert_file", r.cfg.CertFile), slog.String("ca_file", r.cfg.CAFile))
	r.current = credentials.NewTLS(config)
	return r.current
}

func (r *reloadingTLS) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := r.now().ClientHandshake(ctx, authority, raw)
	if err != nil {
		return nil, nil, r.explain(err)
	}
	return &freshConn{Conn: conn}, info, nil
}

// explain adds what to do about a failed handshake of a client.
func (r *reloadingTLS) explain(err error) error {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var plain tls.RecordHeaderError
	switch {
	case errors.As(err, &unknown) && r.cfg.CAFile == "":
		return fmt.Errorf("%w: set tls.ca_file to the CA that signed the server's certificate", err)
	case errors.As(err, &unknown):
		return fmt.Errorf("%w: tls.ca_file %s must hold the CA that signed the server's certificate", err, r.cfg.CAFile)
	case errors.As(err, &name):
		return fmt.Errorf("%w: dial the server by a name in its certificate, or set tls.server_name", err)
	case errors.As(err, &plain):
		return fmt.Errorf("%w: the server seems to speak no TLS", err)
	}
	return err
}

func (r *reloadingTLS) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := r.now().ServerHandshake(raw)
	if err != nil && !errors.Is(err, io.EOF) { // EOF: a probe that only connects
		r.loud.do(hostOf(raw.RemoteAddr()), func() {
			r.log.Warn("TLS handshake failed", slog.String("peer", raw.RemoteAddr().String()),
				slog.Bool("client_certificate_required", r.cfg.ClientCAFile != ""), slog.Any("error", err))
		})
	}
	return conn, info, err
}

func (r *reloadingTLS) Info() credentials.ProtocolInfo { return r.now().Info() }

// Clone answers r itself: it is never changed from outside.
func (r *reloadingTLS) Clone() credentials.TransportCredentials { return r }

// OverrideServerName is refused; see TLSConfig.ServerName.
func (r *reloadingTLS) OverrideServerName(string) error {
	return errors.New("TLS: the server name is part of the configuration")
}

// freshConn is a client's connection that says what an error before the
// server's first byte means. In TLS 1.3 a client is done before the server has
// looked at its certificate (RFC 8446 section 2), so a refusal comes only here,
// and often as no more than a closed connection.
type freshConn struct {
	net.Conn
	answered atomic.Bool
}

func (c *freshConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && !c.answered.Load() {
		c.answered.Store(true)
	}
	return n, c.explain(err)
}

func (c *freshConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, c.explain(err)
}

func (c *freshConn) explain(err error) error {
	if err == nil || c.answered.Load() || errors.Is(err, net.ErrClosed) {
		return err
	}
	return fmt.Errorf("the server ended the connection right after the TLS handshake: if it asks for client certificates, tls.cert_file must be set and signed by a CA in its client_ca_file: %w", err)
}
