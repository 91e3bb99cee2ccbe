package auth

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// Kind tells people from services.
type Kind string

// The kinds of principals. The zero Kind is not valid.
const (
	// KindUser is a signed-in user, or a service working for that user.
	KindUser Kind = "user"
	// KindService is a service of this deployment, working for itself.
	KindService Kind = "service"
)

// ScopeAll is the scope that stands for every scope.
const ScopeAll = "*"

// Reasons of the errors made here.
const (
	ReasonUnauthenticated = "UNAUTHENTICATED"
	ReasonUserRequired    = "USER_REQUIRED"
)

// Principal is who a call is made for. The zero Principal is nobody.
type Principal struct {
	// UserID owns what the call makes and sees. Empty for a service that works
	// for itself: it owns nothing and so finds nothing of anybody's.
	UserID string
	// Kind is KindUser or KindService.
	Kind Kind
	// Service names the calling service when Kind is KindService.
	Service string
	// TokenID is the id, never the text, of the API token that was used; empty
	// when there was none.
	TokenID string
	// Scopes are what the token may do; ScopeAll stands for everything. None
	// means nothing that asks for a scope.
	Scopes []string
	// ExpiresAt is when that token ends; zero: never, or not known here, since it
	// does not travel from service to service.
	ExpiresAt time.Time
}

// ServicePrincipal is a service of this deployment calling for itself.
func ServicePrincipal(name string) Principal {
	return Principal{Kind: KindService, Service: name, Scopes: []string{ScopeAll}}
}

// UserPrincipal is a user with the given scopes.
func UserPrincipal(userID string, scopes ...string) Principal {
	return Principal{Kind: KindUser, UserID: userID, Scopes: scopes}
}

// Has says whether p may do what scope names. The empty scope is held by
// everybody.
func (p Principal) Has(scope string) bool {
	return scope == "" || slices.Contains(p.Scopes, scope) || slices.Contains(p.Scopes, ScopeAll)
}

// ID is a key of p that no other principal has, for rate limits and logs:
// "user/01J..." or "service/gateway". It is empty for nobody.
func (p Principal) ID() string {
	switch p.Kind {
	case KindUser:
		return string(KindUser) + "/" + p.UserID
	case KindService:
		return string(KindService) + "/" + p.Service
	}
	return ""
}

type contextKey struct{}

// NewContext is ctx with p as the principal, replacing any other.
func NewContext(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// FromContext is the principal of ctx; false when there is none. Its Scopes
// must not be changed.
func FromContext(ctx context.Context) (Principal, bool) {
	p, ok := ctx.Value(contextKey{}).(Principal)
	return p, ok
}

// Require is the principal of ctx, or UNAUTHENTICATED.
func Require(ctx context.Context) (Principal, error) {
	p, ok := FromContext(ctx)
	if !ok {
		return Principal{}, rpcerr.New(codes.Unauthenticated, ReasonUnauthenticated,
			"this needs an identity: send the header \"authorization: Bearer nc_...\"")
	}
	return p, nil
}

// RequireUser is Require for what must belong to a user: a service that calls
// for itself gets PERMISSION_DENIED.
func RequireUser(ctx context.Context) (Principal, error) {
	p, err := Require(ctx)
	if err != nil {
		return Principal{}, err
	}
	if p.UserID == "" {
		return Principal{}, rpcerr.New(codes.PermissionDenied, ReasonUserRequired,
			"this is done for a user only: service %q must pass the user's principal on", p.Service)
	}
	return p, nil
}
