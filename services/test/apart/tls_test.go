package apart

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// authority is a certificate authority of the test's own.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.issue("ca", &x509.Certificate{
		Subject: pkix.Name{CommonName: "a CA for tests"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

// file is the path of what issue wrote.
func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// issue writes <name>.crt and <name>.key.
func (a *authority) issue(name string, what *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	what.SerialNumber = big.NewInt(time.Now().UnixNano())
	what.NotBefore, what.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	by, signer := a.cert, a.key
	if by == nil {
		by, signer = what, key
	}
	der, err := x509.CreateCertificate(rand.Reader, what, by, key.Public(), signer)
	if err != nil {
		a.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{name + ".crt": {Type: "CERTIFICATE", Bytes: der}, name + ".key": {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(a.file(file), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

// forProcess issues what the process at an address shows, to those it calls and
// who call it.
func (a *authority) forProcess(name, addr string) suite.TLSConfig {
	a.t.Helper()
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		a.t.Fatal(err)
	}
	a.issue(name, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{at.Addr().AsSlice()}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	return suite.TLSConfig{
		CertFile: a.file(name + ".crt"), KeyFile: a.file(name + ".key"), ClientCAFile: a.file("ca.crt"), CAFile: a.file("ca.crt"),
	}
}

func TestTheStoryWithCertificatesOnBothSides(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	d := deploy(t, world.New(t, answering))
	for name, cfg := range d.configs {
		cfg.TLS = ca.forProcess(name, cfg.GRPC.Addr)
	}
	d.startAll()
	c := d.client()
	checkStory(t, c, c.Ask(t, c.Conversation(t), "Please look up nanoclaws"))
	d.askOverGRPC(t)

	search := func(conn grpc.ClientConnInterface) error {
		_, err := searchv1.NewSearchServiceClient(conn).Search(deadline(t), &searchv1.SearchRequest{Query: "nanoclaws"})
		return err
	}
	token := d.token("orchestrator")
	if err := search(d.conn("search", token)); err != nil {
		t.Errorf("with a certificate and a token: %v", err)
	}
	without, err := rpc.Dial(d.configs["search"].GRPC.Addr, rpc.DialConfig{Token: token, TLS: rpc.TLSConfig{CAFile: ca.file("ca.crt")}})
	if err != nil {
		t.Fatal(err)
	}
	defer without.Close()
	if err := search(without); status.Code(err) != codes.Unavailable {
		t.Errorf("without a certificate: %v", err)
	}
	if err := search(bare(t, d.configs["search"].GRPC.Addr)); status.Code(err) != codes.Unavailable {
		t.Errorf("without TLS: %v", err)
	}
}
