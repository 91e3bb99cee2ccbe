package fetcher

import (
	"strconv"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/document"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/httpfetch"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// Reasons of a fetch without an answer.
//
// The code follows from one question: may the same fetch succeed later? If so it
// is UNAVAILABLE with RetryInfo, or DEADLINE_EXCEEDED. If not, the caller needs
// another url, whatever is wrong with this one: INVALID_ARGUMENT for the field
// url, also when a redirect led to what is wrong. The reason says which of the
// two it is, the address that was given or what was found there.
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
	// ReasonUnsupportedType is a body of a format that is not read.
	ReasonUnsupportedType = string(document.Unsupported)
)

// retrySoon is what RetryInfo says about passing failures of a server that
// names no time itself.
const retrySoon = 5 * time.Second

// shape gives a failure the code and reason that callers decide by.
func shape(f *httpfetch.Error) *rpcerr.Error {
	told := *f
	told.Message, told.Host = harmless(f.Message), harmless(f.Host) // strangers may have put them into headers
	e := shapeKind(&told).WithCause(f)
	if told.Host != "" {
		e = e.WithMeta("host", told.Host)
	}
	return e.WithMeta("attempts", strconv.Itoa(f.Attempts))
}

func shapeKind(f *httpfetch.Error) *rpcerr.Error {
	switch {
	case f.Kind == httpfetch.KindCancelled:
		return rpcerr.New(codes.Canceled, rpcerr.ReasonCancelled, "%s", f.Message)
	case f.Kind == httpfetch.KindTimeout:
		return rpcerr.New(codes.DeadlineExceeded, ReasonFetchTimeout, "%s", f.Message)
	case f.Kind == httpfetch.KindRefused && f.Redirects > 0:
		return badURL(refusalReason(f.Reason), "the page redirects to an address that may not be fetched: "+f.Message).WithMeta("refusal", f.Reason)
	case f.Kind == httpfetch.KindRefused:
		return badURL(refusalReason(f.Reason), f.Message).WithMeta("refusal", f.Reason)
	case f.Retryable:
		return rpcerr.New(codes.Unavailable, kindReason(f), "%s", f.Message).WithRetry(retrySoon)
	}
	return badURL(kindReason(f), f.Message)
}

// badURL is for an url that no other try makes good.
func badURL(reason, words string) *rpcerr.Error {
	return rpcerr.New(codes.InvalidArgument, reason, "url: %s", words).WithField("url", words)
}

func kindReason(f *httpfetch.Error) string {
	switch f.Kind {
	case httpfetch.KindDNS:
		if f.Retryable {
			return ReasonDNSFailed
		}
		return ReasonHostNotFound
	case httpfetch.KindConnect:
		return ReasonConnectFailed
	case httpfetch.KindTLS:
		return ReasonTLSFailed
	case httpfetch.KindRedirect:
		return ReasonBadRedirect
	case httpfetch.KindTooLarge:
		return ReasonTooLarge
	case httpfetch.KindDecode:
		return ReasonBadEncoding
	}
	return ReasonBadResponse
}

// refusalReason tells an address that is not public from one that nobody could
// fetch.
func refusalReason(guard string) string {
	switch guard {
	case netguard.ReasonParse, netguard.ReasonScheme, netguard.ReasonUserinfo, netguard.ReasonPort, netguard.ReasonNetwork,
		netguard.ReasonDowngrade, "no_host", "bad_host", "idna":
		return ReasonURLRefused
	}
	return ReasonPrivateAddress
}

// shapeUnreadable tells a fetch what is wrong with what came, and the type, so that
// the caller knows what it is instead. What broke off is no wonder damaged.
func shapeUnreadable(e *document.Error, brokeOff bool) error {
	words := harmless(e.Words)
	if brokeOff {
		words += "; only a part of it came: it is longer than what is fetched, or the connection broke"
	}
	return badURL(string(e.Reason), words).WithMeta("content_type", e.Type).WithCause(e)
}
