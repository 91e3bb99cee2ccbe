package provider

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
)

// connectionFault explains why a request got no answer: what happened and what to
// do. err holds no address with a key in it.
func connectionFault(err error) (what, hint string) {
	var (
		dns   *net.DNSError
		op    *net.OpError
		timed net.Error
	)
	switch {
	case errors.As(err, &op) && op.Op == "proxyconnect":
		return fmt.Sprintf("the proxy on the way cannot be reached (%v)", op.Err), "Check HTTPS_PROXY and NO_PROXY of this process"
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Sprintf("the host name %q cannot be resolved (%s)", dns.Name, dns.Err), "Check the spelling of the host in api_url"
	case errors.As(err, &dns):
		return fmt.Sprintf("the host name %q cannot be resolved (%s)", dns.Name, dns.Err), "Check the name server and the network of this machine, then api_url"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused: nothing listens there", "Check the host and port in api_url, and that the server is started"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return fmt.Sprintf("there is no way to the host (%v)", err), "Check the network of this machine, and its proxy if it needs one (HTTPS_PROXY)"
	case isTLSFailure(err), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return tlsFault(err)
	case errors.As(err, &timed) && timed.Timeout():
		return fmt.Sprintf("the connection was not made in time (%v)", err), "Check that a firewall or a proxy lets requests through to the host in api_url"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Sprintf("the connection failed before an answer came (%v)", err), "Check that api_url has the scheme and port of the server, and that no firewall or proxy cuts the connection"
	}
	return fmt.Sprintf("the connection failed (%v)", err), "Check api_url and the network of this machine"
}

func tlsFault(err error) (what, hint string) {
	var (
		record  tls.RecordHeaderError
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	what = fmt.Sprintf("the TLS handshake failed (%v)", err)
	switch {
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "the server does not speak TLS", "Use http:// in api_url if that is meant"
	case errors.As(err, &unknown):
		return what, "The certificate is of an authority that this machine does not know: a proxy may look into the connection; name its root certificate with SSL_CERT_FILE, or install it"
	case errors.As(err, &host):
		return what, "The certificate is for another host: check the host name in api_url"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return what, "The certificate has expired or is not valid yet: check the clock of this machine, else the provider has to renew it"
	}
	return what, "Check the host name in api_url, the machine's clock and its root certificates"
}
