package doctor

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"io/fs"
	"net"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
)

// renewTime is how long before its end a certificate should be renewed.
const renewTime = 14 * 24 * time.Hour

func (x *examination) identityKey(context.Context) []Finding {
	file := x.cfg.IdentityKeyFile()
	key, err := auth.LoadKey(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && x.cfg.Auth.SigningKeyFile == "" && x.apart():
		return failed("copy it from another process of the deployment, or name it with auth.signing_key_file",
			"%s is not there: this process would make a key of its own, which the other services refuse", file)
	case errors.Is(err, fs.ErrNotExist) && x.cfg.Auth.SigningKeyFile == "":
		return ok("%s is made at the first start", file)
	case err != nil:
		return failed("give every process of the deployment the same Ed25519 key in a file that its user alone can read", "%v", err)
	}
	return ok("%s, fingerprint %s: the same in every process of the deployment", file, auth.Fingerprint(key.Public().(ed25519.PublicKey)))
}

// apart says that some service runs in another process.
func (x *examination) apart() bool {
	return x.cfg.Services != suite.ServicesConfig{} || x.cfg.GRPC.Advertise != ""
}

func (x *examination) tls(context.Context) []Finding {
	t := x.cfg.TLS
	if t == (suite.TLSConfig{}) {
		if host, _, err := net.SplitHostPort(x.cfg.GRPC.Addr); err == nil && !isLoopback(host) {
			return warning("set tls.cert_file, tls.key_file and tls.ca_file, unless something in front encrypts",
				"gRPC at %s is reached from other machines without TLS", x.cfg.GRPC.Addr)
		}
		return ok("off: gRPC stays on this machine")
	}
	if err := x.cfg.TLS.RPC().Check(); err != nil {
		return failed("correct the files of tls.* in the configuration", "%v", err)
	}
	if t.CertFile == "" {
		if t.ClientCAFile != "" {
			return failed("set tls.cert_file and tls.key_file", "tls.client_ca_file without tls.cert_file: no caller is asked for a certificate, because this server does not encrypt")
		}
		return ok("calls to other services are encrypted; this server is not")
	}
	pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
	if err != nil {
		return failed("correct the files of tls.* in the configuration", "%v", err)
	}
	until := pair.Leaf.NotAfter
	if time.Until(until) < renewTime {
		return warning("renew it; the new files are taken without a restart", "the certificate in %s ends on %s", t.CertFile, until.Format(time.DateOnly))
	}
	who := "any caller may connect"
	if t.ClientCAFile != "" {
		who = "callers must show a certificate of " + t.ClientCAFile
	}
	return ok("the certificate in %s is good until %s; %s", t.CertFile, until.Format(time.DateOnly), who)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
