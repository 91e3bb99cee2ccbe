package rpc_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
)

// authority is a CA made for a test.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	a.key = newECKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.file = filepath.Join(a.dir, name+".pem")
	writePEM(t, a.file, "CERTIFICATE", der)
	return a
}

func newECKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func writePEM(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// leaf is a certificate for 127.0.0.1 and localhost, good for both ends; change
// may alter it.
func (a *authority) leaf(serial int64, change func(*x509.Certificate)) (cert, key []byte) {
	a.t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "nanoclaw"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	if change != nil {
		change(template)
	}
	private := newECKey(a.t)
	cert, err := x509.CreateCertificate(rand.Reader, template, a.cert, private.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	key, err = x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

// issue writes a leaf to files.
func (a *authority) issue(serial int64, change func(*x509.Certificate)) (certFile, keyFile string) {
	a.t.Helper()
	dir := a.t.TempDir()
	certFile, keyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	cert, key := a.leaf(serial, change)
	writePEM(a.t, certFile, "CERTIFICATE", cert)
	writePEM(a.t, keyFile, "PRIVATE KEY", key)
	return certFile, keyFile
}

// pair is the TLSConfig of a certificate.
func (a *authority) pair(serial int64, change func(*x509.Certificate)) rpc.TLSConfig {
	cert, key := a.issue(serial, change)
	return rpc.TLSConfig{CertFile: cert, KeyFile: key}
}

func encrypted(cfg rpc.TLSConfig) func(*rpc.ServerConfig) {
	return func(c *rpc.ServerConfig) { c.TLS = cfg }
}

func TestCallsOverTLS(t *testing.T) {
	ca, other := newAuthority(t, "ca"), newAuthority(t, "other")
	plain := rpc.TLSConfig{}
	server := ca.pair(2, nil)
	mutual := server
	mutual.ClientCAFile = ca.file
	named := ca.pair(3, func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = []string{"search.internal"}, nil })
	trusting := func(cfg rpc.TLSConfig, file string) rpc.TLSConfig { cfg.CAFile = file; return cfg }

	for _, tc := range []struct {
		name   string
		server rpc.TLSConfig
		client rpc.TLSConfig
		want   string // in the error; empty: it works
		log    string // in the server's log
	}{
		{"a client that trusts the CA", server, rpc.TLSConfig{CAFile: ca.file}, "", ""},
		{"a client that trusts another CA", server, rpc.TLSConfig{CAFile: other.file}, other.file + " must hold the CA", "bad certificate"},
		{"a client that trusts the system's CAs", server, rpc.TLSConfig{ServerName: "localhost"}, "set tls.ca_file", ""},
		{"a certificate for another name", named, rpc.TLSConfig{CAFile: ca.file}, "set tls.server_name", ""},
		{"the name that the client was told to expect", named, rpc.TLSConfig{CAFile: ca.file, ServerName: "search.internal"}, "", ""},
		{"a client without TLS", server, plain, "reading server preface", "does not look like a TLS handshake"},
		{"a server without TLS", plain, rpc.TLSConfig{CAFile: ca.file}, "seems to speak no TLS", ""},
		{"mTLS with a certificate", mutual, trusting(ca.pair(4, nil), ca.file), "", ""},
		{"mTLS without one", mutual, rpc.TLSConfig{CAFile: ca.file}, "asks for client certificates", "client didn't provide a certificate"},
		{"mTLS with one of another CA", mutual, trusting(other.pair(5, nil), ca.file), "signed by a CA in its client_ca_file", "signed by unknown authority"},
		{"mTLS with one for servers only", mutual, trusting(ca.pair(6, func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[:1] }), ca.file), "asks for client certificates", "incompatible key usage"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var log lines
			r := start(t, &handlers{}, configured(encrypted(tc.server), believes(t, 'a', "search"), func(c *rpc.ServerConfig) { c.Logger = log.logger() }))
			conn, err := rpc.Dial("dns:///"+serveTCP(t, r), rpc.DialConfig{Signer: signerOf(t, 'a', "gateway"), Audience: "search", TLS: tc.client})
			err = call(as(t, user), r.keep(conn, err), wantAny)
			if tc.want == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want UNAVAILABLE with %q", err, tc.want)
			}
			r.stop() // then the handshake is over on the server's side too
			r.stop = func() {}
			if !strings.Contains(log.String(), tc.log) {
				t.Errorf("the server's log lacks %q:\n%s", tc.log, log.String())
			}
		})
	}
}

func TestTLSFilesThatAreWrongAtStart(t *testing.T) {
	ca, other := newAuthority(t, "ca"), newAuthority(t, "other")
	good, second := ca.pair(2, nil), ca.pair(3, nil)
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	old := ca.pair(4, func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	})
	future := ca.pair(5, func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
	})
	for _, tc := range []struct {
		name string
		cfg  rpc.TLSConfig
		want []string
	}{
		{"no such certificate", rpc.TLSConfig{CertFile: "/nowhere/tls.crt", KeyFile: good.KeyFile}, []string{"cert_file", "/nowhere/tls.crt", "no such file"}},
		{"no such key", rpc.TLSConfig{CertFile: good.CertFile, KeyFile: "/nowhere/tls.key"}, []string{"key_file", "/nowhere/tls.key", "no such file"}},
		{"a certificate without a key", rpc.TLSConfig{CertFile: good.CertFile}, []string{"key_file"}},
		{"the key of another certificate", rpc.TLSConfig{CertFile: good.CertFile, KeyFile: second.KeyFile}, []string{good.CertFile, second.KeyFile, "does not match"}},
		{"a certificate that is none", rpc.TLSConfig{CertFile: empty, KeyFile: good.KeyFile}, []string{empty}},
		{"an expired certificate", old, []string{old.CertFile, "expired on"}},
		{"one that is not yet valid", future, []string{future.CertFile, "not valid before", "clock"}},
		{"a client CA file without a CA", rpc.TLSConfig{CertFile: good.CertFile, KeyFile: good.KeyFile, ClientCAFile: empty}, []string{"client_ca_file", empty, "no certificate"}},
		{"no such client CA file", rpc.TLSConfig{CertFile: good.CertFile, KeyFile: good.KeyFile, ClientCAFile: "/nowhere/ca.pem"}, []string{"client_ca_file", "/nowhere/ca.pem"}},
		{"a CA file of somebody else", rpc.TLSConfig{CertFile: good.CertFile, KeyFile: good.KeyFile, CAFile: other.file}, []string{good.CertFile, other.file, "unknown authority"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := rpc.DefaultServerConfig()
			cfg.TLS = tc.cfg
			_, err := rpc.NewServer(cfg)
			if err == nil {
				t.Fatal("the server was made")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error = %v, want %q in it", err, want)
				}
			}
			if check := tc.cfg.Check(); check == nil || check.Error() != err.Error() {
				t.Errorf("Check = %v, want %v", check, err)
			}
		})
	}
	t.Run("client files too", func(t *testing.T) {
		cfg := rpc.TLSConfig{CAFile: empty}
		if _, err := rpc.Dial("search:3001", rpc.DialConfig{TLS: cfg}); err == nil || !strings.Contains(err.Error(), empty) || !strings.Contains(err.Error(), "search:3001") {
			t.Errorf("Dial = %v, want the file and the target", err)
		}
		if err := cfg.Check(); err == nil {
			t.Error("Check found nothing")
		}
	})
	t.Run("a key or client CAs without a certificate are of no use to a server", func(t *testing.T) {
		cfg := rpc.DefaultServerConfig()
		cfg.TLS = rpc.TLSConfig{ClientCAFile: ca.file}
		if _, err := rpc.NewServer(cfg); err == nil || !strings.Contains(err.Error(), "cert_file") {
			t.Errorf("NewServer = %v", err)
		}
	})
	full := good
	full.CAFile, full.ClientCAFile = ca.file, ca.file
	if err := full.Check(); err != nil {
		t.Errorf("Check of good files = %v", err)
	}
}

func TestCertificatesAreReadAgainWhenTheyChange(t *testing.T) {
	ca, next := newAuthority(t, "ca"), newAuthority(t, "next")
	files := ca.pair(2, nil)
	var log lines
	r := start(t, &handlers{}, configured(encrypted(files), believes(t, 'a', "search"), func(c *rpc.ServerConfig) { c.Logger = log.logger() }))
	addr := serveTCP(t, r)
	trusted := filepath.Join(t.TempDir(), "trusted.pem")
	age := 0
	replace := func(path, kind string, der []byte) { // with a time that differs for sure
		writePEM(t, path, kind, der)
		age++
		if when := time.Now().Add(time.Duration(age) * time.Minute); os.Chtimes(path, when, when) != nil {
			t.Fatal("chtimes")
		}
	}
	replace(trusted, "CERTIFICATE", ca.cert.Raw)
	serial := func() (int64, error) { // of the certificate that a new connection gets
		t.Helper()
		conn, err := rpc.Dial(addr, rpc.DialConfig{Signer: signerOf(t, 'a', "gateway"), Audience: "search", TLS: rpc.TLSConfig{CAFile: trusted}})
		if err != nil {
			return 0, err
		}
		defer conn.Close()
		var from peer.Peer
		if err := getRun(as(t, user), conn, grpc.Peer(&from)); err != nil {
			return 0, err
		}
		return from.AuthInfo.(credentials.TLSInfo).State.PeerCertificates[0].SerialNumber.Int64(), nil
	}
	require := func(want int64) {
		t.Helper()
		if got, err := serial(); err != nil || got != want {
			t.Fatalf("a new connection gets certificate %d, %v; want %d", got, err, want)
		}
	}
	old, err := rpc.Dial(addr, rpc.DialConfig{Signer: signerOf(t, 'a', "gateway"), Audience: "search", TLS: rpc.TLSConfig{CAFile: trusted}})
	r.keep(old, err)
	require(2)
	if err := getRun(as(t, user), old); err != nil {
		t.Fatal(err)
	}

	cert, key := ca.leaf(3, nil)
	replace(files.CertFile, "CERTIFICATE", cert) // half a change
	require(2)
	if !strings.Contains(log.String(), "the former ones stay in use") {
		t.Errorf("half a change is not spoken of:\n%s", log.String())
	}
	replace(files.KeyFile, "PRIVATE KEY", key)
	require(3)

	cert, key = next.leaf(4, nil) // the CA changes too
	replace(files.CertFile, "CERTIFICATE", cert)
	replace(files.KeyFile, "PRIVATE KEY", key)
	if _, err := serial(); err == nil || !strings.Contains(err.Error(), "must hold the CA") {
		t.Errorf("a CA that is not trusted: %v", err)
	}
	replace(trusted, "CERTIFICATE", next.cert.Raw)
	require(4)

	if err := getRun(as(t, user), old); err != nil {
		t.Errorf("a connection from before is cut: %v", err)
	}
}

func TestOldTLSVersionsAreRefused(t *testing.T) {
	ca := newAuthority(t, "ca")
	r := start(t, &handlers{}, encrypted(ca.pair(2, nil)))
	addr := serveTCP(t, r)
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	conn, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11, NextProtos: []string{"h2"}})
	if err == nil {
		conn.Close()
		t.Fatal("TLS 1.1 is spoken")
	}
}
