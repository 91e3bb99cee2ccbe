package provider

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"time"
)

// Kind classifies a failed model call.
type Kind string

// The kinds of failure.
const (
	KindAuth          Kind = "auth"           // key missing, wrong or without permission
	KindNotFound      Kind = "not_found"      // wrong address or model name
	KindBadRequest    Kind = "bad_request"    // refused as it is; never repeat unchanged
	KindContextLength Kind = "context_length" // the prompt does not fit the model's window
	KindRateLimited   Kind = "rate_limited"   // too fast; wait RetryAfter
	KindQuota         Kind = "quota"          // no credit left; waiting does not help
	KindOverloaded    Kind = "overloaded"     // the provider has no capacity now
	KindServer        Kind = "server"         // the provider failed
	KindTimeout       Kind = "timeout"        // silent for too long
	KindTransport     Kind = "transport"      // DNS, connection, TLS
	KindTruncated     Kind = "truncated"      // the stream ended before the answer did
	KindMalformed     Kind = "malformed"      // not the chat-completions protocol, or over a limit
	KindContentFilter Kind = "content_filter" // the provider refused the content
	KindCancelled     Kind = "cancelled"      // the caller's context ended
)

// Error says what went wrong with a model call.
type Error struct {
	Kind Kind
	// Status is the HTTP status of the answer, 0 when there was none. An error
	// inside a stream has the stream's status, 200.
	Status int
	// Code is the provider's own code, as text.
	Code string
	// Message says what happened, at which address and what to check. It is
	// safe to show: secrets are redacted.
	Message string
	// Hint is the end of Message that says what to do; empty when there is
	// nothing to say.
	Hint string
	// Detail is what the provider itself said, redacted and cut; may be empty.
	Detail string
	// RetryAfter is the wait that the provider asks for, 0 when it asks none.
	RetryAfter time.Duration
	RequestID  string
	// Err is the underlying error, if there is one.
	Err error
}

// Error returns Message.
func (e *Error) Error() string { return e.Message }

// Fault is Message without Hint.
func (e *Error) Fault() string { return strings.TrimSuffix(e.Message, ". "+e.Hint) }

// Unwrap returns the underlying error.
func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same call may succeed when it is made again.
func (e *Error) Retryable() bool {
	switch e.Kind {
	case KindRateLimited, KindOverloaded, KindServer, KindTimeout, KindTruncated:
		return true
	case KindTransport:
		return !misconfigured(e.Err)
	default:
		return false
	}
}

// misconfigured reports whether a transport failure will stay until somebody
// changes the configuration: a name that does not exist, or a certificate or
// protocol that does not match.
func misconfigured(err error) bool {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return dns.IsNotFound
	}
	return isTLSFailure(err)
}

func isTLSFailure(err error) bool {
	var (
		verify  *tls.CertificateVerificationError
		record  tls.RecordHeaderError
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
		op      *net.OpError
	)
	// crypto/tls reports an alert of either side as an OpError of these names.
	alert := errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error")
	return alert || errors.As(err, &verify) || errors.As(err, &record) || errors.As(err, &unknown) ||
		errors.As(err, &host) || errors.As(err, &invalid)
}
