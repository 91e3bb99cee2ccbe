package fetcher

import (
	"errors"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/httpfetch"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// Reasons of a fetch without an answer.
const (
	ReasonPrivateAddress = "PRIVATE_ADDRESS" // not a public address
	ReasonURLRefused     = "URL_REFUSED"     // the address itself is not one that is fetched
	ReasonHostNotFound   = "HOST_NOT_FOUND"
	ReasonDNSFailed      = "DNS_FAILED"
	ReasonConnectFailed  = "CONNECT_FAILED"
	ReasonTLSFailed      = "TLS_FAILED"
	ReasonFetchTimeout   = "FETCH_TIMEOUT"
	ReasonBadRedirect    = "BAD_REDIRECT"
	ReasonTooLarge       = "TOO_LARGE"
	ReasonBadEncoding    = "BAD_ENCODING"
	ReasonBadResponse    = "BAD_RESPONSE"
	// ReasonUnsupportedType is a body that cannot be read as text.
	ReasonUnsupportedType = "UNSUPPORTED_CONTENT_TYPE"
)

// retrySoon is what RetryInfo says about passing failures of a server that
// names no time itself.
const retrySoon = 5 * time.Second

// shape gives a failure the code and reason that callers decide by.
func shape(f *httpfetch.Error) *rpcerr.Error {
	code, reason := codes.Unavailable, ReasonBadResponse
	switch f.Kind {
	case httpfetch.KindRefused:
		return shapeRefusal(f)
	case httpfetch.KindDNS:
		reason = ReasonDNSFailed
		if !f.Retryable {
			code, reason = codes.FailedPrecondition, ReasonHostNotFound
		}
	case httpfetch.KindConnect:
		reason = ReasonConnectFailed
	case httpfetch.KindTLS:
		code, reason = codes.FailedPrecondition, ReasonTLSFailed
	case httpfetch.KindTimeout:
		code, reason = codes.DeadlineExceeded, ReasonFetchTimeout
	case httpfetch.KindCancelled:
		code, reason = codes.Canceled, rpcerr.ReasonCancelled
	case httpfetch.KindRedirect:
		code, reason = codes.FailedPrecondition, ReasonBadRedirect
	case httpfetch.KindTooLarge:
		code, reason = codes.FailedPrecondition, ReasonTooLarge
	case httpfetch.KindDecode:
		code, reason = codes.FailedPrecondition, ReasonBadEncoding
	case httpfetch.KindProtocol:
	}
	e := rpcerr.New(code, reason, "%s", f.Message).WithCause(f).
		WithMeta("host", f.Host).WithMeta("attempts", strconv.Itoa(f.Attempts))
	if f.Retryable && code == codes.Unavailable {
		e = e.WithRetry(retrySoon)
	}
	return e
}

// shapeRefusal blames the argument for an address that was given, and the
// server for one that a redirect led to.
func shapeRefusal(f *httpfetch.Error) *rpcerr.Error {
	reason := ReasonPrivateAddress
	switch f.Reason {
	case netguard.ReasonParse, netguard.ReasonScheme, netguard.ReasonUserinfo, netguard.ReasonPort, netguard.ReasonNetwork,
		netguard.ReasonDowngrade, "no_host", "bad_host", "idna":
		reason = ReasonURLRefused
	}
	if f.Redirects > 0 {
		return rpcerr.New(codes.PermissionDenied, reason, "the page redirects to an address that may not be fetched: %s", f.Message).
			WithMeta("refusal", f.Reason).WithCause(f)
	}
	return rpcerr.New(codes.InvalidArgument, reason, "url: %s", f.Message).
		WithField("url", f.Message).WithMeta("refusal", f.Reason).WithCause(f)
}

// shapeUnsupported names the type, so that the caller knows what it is instead.
func shapeUnsupported(err error) error {
	var u *unsupportedTypeError
	if !errors.As(err, &u) {
		return err
	}
	return rpcerr.New(codes.FailedPrecondition, ReasonUnsupportedType, "%v; only HTML and other text can be read", u).
		WithMeta("content_type", u.mediaType).WithCause(err)
}
