package rpc

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"
)

// TLSConfig names the files of TLS, all PEM; the zero value is plaintext. One
// value serves both ends of a deployment: a server encrypts when it has a
// CertFile, a client when any field is set. Files that change are read again at
// the next handshake; when the new ones are wrong the former stay in use.
type TLSConfig struct {
	// CertFile and KeyFile are the certificate, with its chain, and the private
	// key: of the server, and of the client when it is asked for one.
	CertFile, KeyFile string
	// ClientCAFile makes a server demand a certificate signed by one of these
	// CAs from every client (mTLS).
	ClientCAFile string
	// CAFile holds the CAs that a client trusts; empty: those of the system.
	CAFile string
	// ServerName is the name that a client expects in the server's certificate;
	// empty: the host that it dials.
	ServerName string
}

// Enabled says whether a client with c encrypts.
func (c TLSConfig) Enabled() bool { return c != TLSConfig{} }

// Check reads every file and says what is wrong: one is missing or cannot be
// read, the certificate has expired, the key belongs to another one, a CA file
// holds no CA, or the certificate is not signed by the CAs of CAFile.
func (c TLSConfig) Check() error {
	_, err := c.forServer()
	if c.CertFile == "" {
		_, err = c.forClient()
	}
	return err
}

func (c TLSConfig) forServer() (*tls.Config, error) {
	if c.CertFile == "" || c.KeyFile == "" {
		return nil, errors.New("TLS: a server needs cert_file and key_file")
	}
	cert, err := c.certificate()
	if err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*cert}}
	if c.ClientCAFile != "" {
		if config.ClientCAs, err = readCAs("client_ca_file", c.ClientCAFile); err != nil {
			return nil, err
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	if c.CAFile != "" { // what the other services of the deployment will do
		if err := c.verifyOwn(cert); err != nil {
			return nil, err
		}
	}
	return config, nil
}

func (c TLSConfig) forClient() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.ServerName}
	var err error
	if c.CAFile != "" {
		if config.RootCAs, err = readCAs("ca_file", c.CAFile); err != nil {
			return nil, err
		}
	}
	if c.CertFile != "" || c.KeyFile != "" {
		cert, err := c.certificate()
		if err != nil {
			return nil, err
		}
		// Sent even when the server names other CAs: then the server can say that
		// it does not know this one, instead of that there was none.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert, nil }
	}
	return config, nil
}

func (c TLSConfig) certificate() (*tls.Certificate, error) {
	if c.CertFile == "" || c.KeyFile == "" {
		return nil, errors.New("TLS: cert_file and key_file belong together, and one is missing")
	}
	certificate, err := os.ReadFile(c.CertFile)
	if err != nil {
		return nil, fmt.Errorf("TLS: cert_file: %w", err)
	}
	key, err := os.ReadFile(c.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("TLS: key_file: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("TLS: cert_file %s with key_file %s: %w", c.CertFile, c.KeyFile, err)
	}
	switch now := time.Now(); {
	case now.After(pair.Leaf.NotAfter):
		return nil, fmt.Errorf("TLS: the certificate in %s expired on %s: renew it", c.CertFile, pair.Leaf.NotAfter.Format(time.RFC3339))
	case now.Before(pair.Leaf.NotBefore):
		return nil, fmt.Errorf("TLS: the certificate in %s is not valid before %s: is the clock right?", c.CertFile, pair.Leaf.NotBefore.Format(time.RFC3339))
	}
	return &pair, nil
}

func (c TLSConfig) verifyOwn(pair *tls.Certificate) error {
	roots, err := readCAs("ca_file", c.CAFile)
	if err != nil {
		return err
	}
	intermediates := x509.NewCertPool()
	for _, der := range pair.Certificate[1:] {
		if chained, err := x509.ParseCertificate(der); err == nil {
			intermediates.AddCert(chained)
		}
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: intermediates}); err != nil {
		return fmt.Errorf("TLS: whoever trusts ca_file %s will refuse the certificate in %s: %w", c.CAFile, c.CertFile, err)
	}
	return nil
}

func readCAs(option, path string) (*x509.CertPool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("TLS: %s: %w", option, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("TLS: %s %s holds no certificate in PEM", option, path)
	}
	return pool, nil
}
