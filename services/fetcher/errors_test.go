package fetcher

import (
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/httpfetch"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

func TestWhetherAnotherTryHelpsDecidesTheCode(t *testing.T) {
	for _, tc := range []struct {
		name   string
		f      httpfetch.Error
		code   codes.Code
		reason string
	}{
		{"a private address", httpfetch.Error{Kind: httpfetch.KindRefused, Reason: netguard.ReasonPrivate}, codes.InvalidArgument, ReasonPrivateAddress},
		{"a redirect to one", httpfetch.Error{Kind: httpfetch.KindRefused, Reason: netguard.ReasonPrivate, Redirects: 2}, codes.InvalidArgument, ReasonPrivateAddress},
		{"another scheme", httpfetch.Error{Kind: httpfetch.KindRefused, Reason: netguard.ReasonScheme}, codes.InvalidArgument, ReasonURLRefused},
		{"a host that does not exist", httpfetch.Error{Kind: httpfetch.KindDNS}, codes.InvalidArgument, ReasonHostNotFound},
		{"a name server in trouble", httpfetch.Error{Kind: httpfetch.KindDNS, Retryable: true}, codes.Unavailable, ReasonDNSFailed},
		{"no connection", httpfetch.Error{Kind: httpfetch.KindConnect, Retryable: true}, codes.Unavailable, ReasonConnectFailed},
		{"a certificate that is none", httpfetch.Error{Kind: httpfetch.KindTLS}, codes.InvalidArgument, ReasonTLSFailed},
		{"a slow server", httpfetch.Error{Kind: httpfetch.KindTimeout, Retryable: true}, codes.DeadlineExceeded, ReasonFetchTimeout},
		{"a caller who left", httpfetch.Error{Kind: httpfetch.KindCancelled}, codes.Canceled, rpcerr.ReasonCancelled},
		{"redirects without end", httpfetch.Error{Kind: httpfetch.KindRedirect}, codes.InvalidArgument, ReasonBadRedirect},
		{"too much", httpfetch.Error{Kind: httpfetch.KindTooLarge}, codes.InvalidArgument, ReasonTooLarge},
		{"a coding that is none", httpfetch.Error{Kind: httpfetch.KindDecode}, codes.InvalidArgument, ReasonBadEncoding},
		{"no HTTP", httpfetch.Error{Kind: httpfetch.KindProtocol}, codes.InvalidArgument, ReasonBadResponse},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.f.Message, tc.f.Host = "words", "host.example"
			st := rpcerr.From(shape(&tc.f))
			if st.Code() != tc.code || rpcerr.StatusReason(st) != tc.reason {
				t.Errorf("%s %s, want %s %s", st.Code(), rpcerr.StatusReason(st), tc.code, tc.reason)
			}
			field := ""
			for _, d := range st.Details() {
				if bad, ok := d.(*errdetails.BadRequest); ok {
					field = bad.GetFieldViolations()[0].GetField()
				}
			}
			if (field == "url") != (tc.code == codes.InvalidArgument) {
				t.Errorf("the field is %q", field)
			}
			if _, ok := rpcerr.RetryDelay(st.Err()); ok != (tc.code == codes.Unavailable) {
				t.Errorf("a time to come back after: %v", ok)
			}
		})
	}
}
