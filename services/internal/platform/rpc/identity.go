package rpc

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

type audienceKey struct{}

// Audience is the service that the caller's signed identity was made for: one of
// those of the server's Verifier. It is empty for callers with a token and for
// those in the process.
func Audience(ctx context.Context) string {
	name, _ := ctx.Value(audienceKey{}).(string)
	return name
}

// fromIdentity takes an identity that another process of the deployment signed.
func (a *authenticator) fromIdentity(from *peer.Peer, values []string) (auth.Principal, auth.Claims, error) {
	if a.verifier == nil || len(values) != 1 {
		return auth.Principal{}, auth.Claims{}, rpcerr.New(codes.Unauthenticated, auth.ReasonIdentityInvalid,
			"this server takes one signed identity at most, and only when it has the deployment's key")
	}
	p, claims, err := a.verifier.Verify(values[0])
	if err != nil {
		var addr net.Addr
		if from != nil {
			addr = from.Addr
		}
		a.loud.do(hostOf(addr), func() {
			a.log.Warn("a caller's signed identity is refused", slog.String("peer", hostOf(addr)),
				slog.String("reason", rpcerr.Reason(err)), slog.Any("error", err))
		})
	}
	return p, claims, err
}

// identityCredentials sign the principal of each call's context. gRPC asks them
// for every attempt, so a call that waited long does not arrive with an old
// identity.
type identityCredentials struct {
	signer   *auth.Signer
	audience string
}

func (c identityCredentials) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	p, ok := auth.FromContext(ctx)
	if !ok {
		return nil, nil // a method open to anyone, or refused by the other side
	}
	token, err := c.signer.Sign(p, c.audience, auth.ForRun(auth.Run(ctx)))
	if err != nil {
		return nil, unauthenticated("the principal of this call cannot be signed").WithCause(err)
	}
	return map[string]string{auth.IdentityHeader: token}, nil
}

func (identityCredentials) RequireTransportSecurity() bool { return false }

// RemoteExchange is for processes without the orchestrator: it asks the IdentityService behind conn, as service, the name of our own.
//
// Only what the token store itself refuses is a bad token. When the orchestrator
// does not believe us, the token may be a good one: that is UNAVAILABLE.
func RemoteExchange(conn grpc.ClientConnInterface, service string) auth.Exchange {
	identity := orchestratorv1.NewIdentityServiceClient(conn)
	self := auth.ServicePrincipal(service)
	return func(ctx context.Context, token string) (auth.Principal, error) {
		res, err := identity.Exchange(auth.NewContext(ctx, self), &orchestratorv1.ExchangeRequest{Token: token})
		switch rpcerr.Reason(err) {
		case auth.ReasonIdentityInvalid, auth.ReasonIdentityExpired, auth.ReasonIdentityAudience, ReasonServiceOnly:
			return auth.Principal{}, rpcerr.New(codes.Unavailable, auth.ReasonIdentityUnavailable,
				"the orchestrator does not accept this process's own identity").WithRetry(time.Second).WithCause(err)
		}
		if err != nil {
			return auth.Principal{}, err
		}
		p := auth.UserPrincipal(res.GetUserId(), res.GetScopes()...)
		p.TokenID = res.GetTokenId()
		if end := res.GetExpiresAt(); end != nil {
			p.ExpiresAt = end.AsTime()
		}
		return p, nil
	}
}

var errTwoIdentities = errors.New("a connection shows an API token or signs identities, not both")

// isLocalTarget says whether calls to a gRPC target stay on this machine.
func isLocalTarget(target string) bool {
	if strings.HasPrefix(target, "unix") {
		return true
	}
	if _, rest, ok := strings.Cut(target, "://"); ok {
		_, target, _ = strings.Cut(rest, "/")
	}
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		host = target
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
