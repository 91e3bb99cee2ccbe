package doctor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/suite"
)

// certify writes a certificate that signs itself, and its key.
func certify(t *testing.T, life time.Duration) suite.TLSConfig {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: now.Add(-48 * time.Hour), NotAfter: now.Add(life),
		DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, bytes []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return suite.TLSConfig{CertFile: write("cert.pem", "CERTIFICATE", der), KeyFile: write("key.pem", "PRIVATE KEY", private)}
}

func TestCertificatesAreLookedAt(t *testing.T) {
	const day = 24 * time.Hour
	good, soon, over := certify(t, 90*day), certify(t, 3*day), certify(t, -day)
	mutual := good
	mutual.ClientCAFile, mutual.CAFile = good.CertFile, good.CertFile
	swapped := good
	swapped.KeyFile = soon.KeyFile
	distrusted := good
	distrusted.CAFile = soon.CertFile
	for _, c := range []struct {
		name  string
		tls   suite.TLSConfig
		level Level
		words string
	}{
		{"good", good, OK, "any caller may connect"},
		{"mutual", mutual, OK, "callers must show a certificate"},
		{"about to end", soon, Warning, "renew it"},
		{"ended", over, Failed, "expired"},
		{"the key of another one", swapped, Failed, "key"},
		{"not trusted by our own services", distrusted, Failed, "will refuse"},
		{"calls alone", suite.TLSConfig{CAFile: good.CertFile}, OK, "this server is not"},
		{"callers asked by a server without a certificate", suite.TLSConfig{ClientCAFile: good.CertFile}, Failed, "tls.cert_file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := quiet(t)
			cfg.TLS = c.tls
			shows(t, find(t, Examine(t.Context(), Options{Config: cfg}), "tls"), c.level, c.words)
		})
	}
}
