package httpfetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
)

// Kind says what went wrong, in the terms a caller decides by.
type Kind string

// Kinds of failure.
const (
	KindDNS       Kind = "dns"          // the name does not resolve
	KindRefused   Kind = "refused_ssrf" // the address is not one we may go to
	KindConnect   Kind = "connect"      // no connection, or it broke before an answer
	KindTLS       Kind = "tls"          // no trusted encrypted connection
	KindTimeout   Kind = "timeout"      // no whole answer in time
	KindCancelled Kind = "cancelled"    // the caller went away
	KindRedirect  Kind = "redirect"     // too many redirects, or one that leads nowhere
	KindHop       Kind = "hop"          // Request.Hop refused a redirect; its error is wrapped
	KindTooLarge  Kind = "too_large"    // over a limit on sizes
	KindDecode    Kind = "decode"       // the content coding cannot be undone
	KindProtocol  Kind = "protocol"     // the answer is not HTTP
)

// Error is a fetch without an answer.
type Error struct {
	Kind Kind
	// Reason is the guard's own reason where Kind is KindRefused, else empty.
	Reason string
	// Host is where it happened; paths and queries may hold secrets and are
	// never part of an error.
	Host string
	// Message is one sentence for people and models.
	Message string
	// Retryable says that the same fetch may succeed later.
	Retryable bool
	// Redirects is how many redirects had been followed.
	Redirects int
	// Attempts is how many requests were made.
	Attempts int
	// Err is the cause; it is for logs, not for the caller.
	Err error
}

func (e *Error) Error() string { return e.Message }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

var (
	errTotalTimeout     = errors.New("the whole fetch took too long")
	errIdleTimeout      = errors.New("the server stopped sending")
	errTooManyRedirects = errors.New("too many redirects")
)

// hopError is a refusal of Request.Hop.
type hopError struct{ error }

func (e *hopError) Unwrap() error { return e.error }

// timeoutError names the limit that was hit.
func (c *Client) timeoutError(host, what string, limit time.Duration, cause error) *Error {
	return &Error{Kind: KindTimeout, Host: host, Retryable: true, Err: cause,
		Message: fmt.Sprintf("%s: %s within %s", host, what, limit)}
}

// classify turns an error of the client or of a body into an *Error. ctx is
// the context of the request: what ended it explains what the error says.
func (c *Client) classify(ctx context.Context, host string, err error) *Error {
	var (
		guardErr *netguard.Error
		refused  *hopError
		dnsErr   *net.DNSError
		certErr  *tls.CertificateVerificationError
		recErr   tls.RecordHeaderError
		alertErr tls.AlertError
		hostErr  x509.HostnameError
		opErr    *net.OpError
	)
	fail := func(kind Kind, retryable bool, format string, args ...any) *Error {
		return &Error{Kind: kind, Host: host, Retryable: retryable, Err: err, Message: fmt.Sprintf(format, args...)}
	}
	cause := context.Cause(ctx)
	switch {
	case errors.As(err, &guardErr):
		if guardErr.Reason == netguard.ReasonTooManyRedirects {
			return fail(KindRedirect, false, "%s: more than %d redirects", host, netguard.MaxRedirects)
		}
		e := fail(KindRefused, false, "%s", guardErr.Error())
		e.Reason = guardErr.Reason
		return e
	case errors.As(err, &refused) && cause == nil:
		return fail(KindHop, false, "%s: %v", host, refused)
	case errors.Is(cause, errIdleTimeout):
		return c.timeoutError(host, "no more of the answer came", c.cfg.IdleTimeout, err)
	case errors.Is(cause, errTotalTimeout):
		return c.timeoutError(host, "no whole answer came", c.cfg.Timeout, err)
	case errors.Is(cause, context.DeadlineExceeded):
		return fail(KindTimeout, true, "%s: no whole answer came before the caller's deadline", host)
	case cause != nil:
		return fail(KindCancelled, false, "%s: the fetch was cancelled", host)
	case errors.Is(err, errTooManyRedirects):
		return fail(KindRedirect, false, "%s: more than %d redirects", host, c.cfg.MaxRedirects)
	case errors.Is(err, errBomb):
		return fail(KindTooLarge, false, "%s: refused as a %v", host, err)
	case errors.As(err, &dnsErr):
		if dnsErr.IsNotFound {
			return fail(KindDNS, false, "the name %s does not exist", host)
		}
		return fail(KindDNS, true, "the name %s could not be resolved", host)
	case errors.As(err, &certErr), errors.As(err, &recErr), errors.As(err, &alertErr), errors.As(err, &hostErr),
		errors.Is(err, http.ErrSchemeMismatch), strings.Contains(err.Error(), "tls: "):
		return fail(KindTLS, false, "%s: no trusted TLS connection: %s", host, tlsWords(err))
	case strings.Contains(err.Error(), "TLS handshake timeout"):
		return c.timeoutError(host, "no TLS connection", c.cfg.TLSTimeout, err)
	case strings.Contains(err.Error(), "timeout awaiting response headers"):
		return c.timeoutError(host, "no first byte of the answer came", c.cfg.HeaderTimeout, err)
	case errors.As(err, &opErr) && opErr.Op == "dial", errors.Is(err, errDialTimeout):
		if opErr != nil && !opErr.Timeout() {
			return fail(KindConnect, true, "%s: no connection: %s", host, sysWords(err))
		}
		return fail(KindConnect, true, "%s: no connection within %s", host, c.cfg.DialTimeout)
	case isReset(err):
		return fail(KindConnect, true, "%s: the connection broke before the answer was there", host)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fail(KindTimeout, true, "%s: the connection timed out", host)
	case strings.Contains(err.Error(), "server response headers exceeded"):
		return fail(KindTooLarge, false, "%s: the header of the answer is over %d bytes", host, c.cfg.MaxHeaderBytes)
	case strings.Contains(err.Error(), "failed to parse Location header"), strings.Contains(err.Error(), "unsupported protocol scheme"):
		return fail(KindRedirect, false, "%s: redirects to an address that is none", host)
	default:
		return fail(KindProtocol, false, "%s: the answer is not valid HTTP", host)
	}
}

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, net.ErrClosed) ||
		strings.Contains(err.Error(), "http2: ")
}

// sysWords gives the operating system's own words, without addresses.
func sysWords(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return "refused"
}

// tlsWords keeps the part that helps: what is wrong with the certificate.
func tlsWords(err error) string {
	var (
		unknown x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
		host    x509.HostnameError
		record  tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &unknown):
		return "the certificate is signed by an unknown authority"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate has expired or is not yet valid"
	case errors.As(err, &host):
		return "the certificate is for another name"
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return "the server does not speak TLS there"
	default:
		return "the handshake failed"
	}
}
