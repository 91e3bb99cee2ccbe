package rpc

import (
	"context"
	"log/slog"
	"net"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	optionsv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/options/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

const (
	headerAuthorization = "authorization"
	// inProcessNetwork is the network of a bufconn address. No other listener
	// gives it to its peers.
	inProcessNetwork = "bufconn"
)

// authenticator finds out who calls and whether they may.
type authenticator struct {
	verifier  *auth.Verifier   // nil: no signed identity is good
	tokens    *auth.TokenCache // nil: no token is good
	anonymous *auth.Principal  // nil: a token is always needed
	rules     rules
	log       *slog.Logger
	loud      *oncePerPeer
}

func (a *authenticator) step(ctx context.Context, m method) (context.Context, func(error) error, error) {
	from, _ := peer.FromContext(ctx)
	inProcess := from != nil && from.Addr != nil && from.Addr.Network() == inProcessNetwork
	if !inProcess {
		ctx = baggage.ContextWithoutBaggage(ctx) // a stranger's
	}
	r := a.rules.of(m.full)
	if r.caller == optionsv1.Caller_CALLER_ANYONE {
		return ctx, nil, nil
	}
	identify := a.fromOutside
	if inProcess {
		identify = a.fromInside
	}
	p, claims, err := identify(ctx, from)
	if err != nil {
		return nil, nil, err
	}
	callOf(ctx).principal, callOf(ctx).caller = p.ID(), claims.Issuer
	if err := r.check(p); err != nil {
		return nil, nil, err
	}
	if p.UserID != "" {
		trace.SpanFromContext(ctx).SetAttributes(attribute.String("user.id", p.UserID))
	}
	if claims.Audience != "" {
		ctx = context.WithValue(ctx, audienceKey{}, claims.Audience)
	}
	return auth.NewContext(ctx, p), nil, nil
}

// fromInside believes what the client interceptor of this process wrote.
func (a *authenticator) fromInside(ctx context.Context, _ *peer.Peer) (auth.Principal, auth.Claims, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	p, ok, err := auth.FromMetadata(md)
	if err != nil {
		return auth.Principal{}, auth.Claims{}, unauthenticated("the calling service sent a principal that makes no sense").WithCause(err)
	}
	if !ok {
		return auth.Principal{}, auth.Claims{}, unauthenticated("the calling service put no principal into the context of its call")
	}
	return p, auth.Claims{}, nil
}

// fromOutside takes a signed identity or an API token; metadata that names a
// principal in plain words is not even looked at. A signed identity that is
// refused is not made good by a token.
func (a *authenticator) fromOutside(ctx context.Context, from *peer.Peer) (auth.Principal, auth.Claims, error) {
	if signed := metadata.ValueFromIncomingContext(ctx, auth.IdentityHeader); len(signed) > 0 {
		return a.fromIdentity(from, signed)
	}
	p, err := a.fromToken(ctx, from)
	return p, auth.Claims{}, err
}

func (a *authenticator) fromToken(ctx context.Context, from *peer.Peer) (auth.Principal, error) {
	values := metadata.ValueFromIncomingContext(ctx, headerAuthorization)
	if len(values) == 0 && a.anonymous != nil && isLoopback(from) {
		return *a.anonymous, nil
	}
	if len(values) == 0 {
		return auth.Principal{}, unauthenticated(`an API token is needed: send the header "authorization: Bearer nc_..."; "nanoclaw token" makes one`)
	}
	token, ok := bearer(values)
	if !ok {
		return auth.Principal{}, unauthenticated(`the authorization header must be "Bearer nc_...", once`)
	}
	if a.tokens == nil {
		return auth.Principal{}, unauthenticated("this server takes no API tokens")
	}
	return a.tokens.Principal(ctx, token)
}

func unauthenticated(message string) *rpcerr.Error {
	return rpcerr.New(codes.Unauthenticated, auth.ReasonUnauthenticated, "%s", message)
}

// bearer reads the token of a single Bearer header (RFC 6750 section 2.1; the
// scheme's case does not matter, RFC 9110 section 11.1).
func bearer(values []string) (string, bool) {
	if len(values) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	token = strings.TrimLeft(token, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return token, true
}

func isLoopback(from *peer.Peer) bool {
	if from == nil {
		return false
	}
	addr, ok := from.Addr.(*net.TCPAddr)
	return ok && addr.IP.IsLoopback()
}
