package auth

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// Reasons why a signed identity is refused, all UNAUTHENTICATED.
const (
	// ReasonIdentityInvalid: not signed with the deployment's key, or no sense.
	ReasonIdentityInvalid = "IDENTITY_INVALID"
	// ReasonIdentityExpired: outside of its time, or the clocks are apart.
	ReasonIdentityExpired = "IDENTITY_EXPIRED"
	// ReasonIdentityAudience: meant for another service.
	ReasonIdentityAudience = "IDENTITY_AUDIENCE"
)

// Verifier checks signed identities. It is safe for concurrent use.
type Verifier struct {
	key       ed25519.PublicKey
	audiences []string
	parser    *jwt.Parser
	kept      *lru.Cache[string, verified] // good ones only, by their text
}

type verified struct {
	principal Principal
	claims    Claims
}

// NewVerifier takes identities signed with the key that belongs to key and
// meant for one of the audiences: the services of this process.
func NewVerifier(key ed25519.PublicKey, audiences ...string) (*Verifier, error) {
	if len(key) != ed25519.PublicKeySize {
		return nil, errors.New("verify identities: the key is not an Ed25519 key")
	}
	if len(audiences) == 0 || slices.Contains(audiences, "") {
		return nil, errors.New("verify identities: an audience is missing")
	}
	kept, err := lru.New[string, verified](maxKeptIdentities)
	if err != nil {
		return nil, fmt.Errorf("verify identities: %w", err)
	}
	return &Verifier{
		key:       key,
		audiences: slices.Clone(audiences),
		kept:      kept,
		// The algorithm is ours to say, not the token's (RFC 8725 section 3.1).
		// Claims are checked below, in words that help.
		parser: jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}),
			jwt.WithStrictDecoding(), jwt.WithoutClaimsValidation()),
	}, nil
}

// Verify reads an identity. Its errors are UNAUTHENTICATED with one of the
// reasons above, and never hold the token.
func (v *Verifier) Verify(token string) (Principal, Claims, error) {
	now := time.Now()
	if hit, ok := v.kept.Get(token); ok && !now.After(hit.claims.ExpiresAt.Add(ClockLeeway)) {
		return hit.principal, hit.claims, nil
	}
	if len(token) > maxIdentityBytes {
		return Principal{}, Claims{}, invalid("it has more than %d bytes", maxIdentityBytes)
	}
	var wire wireClaims
	parsed, err := v.parser.ParseWithClaims(token, &wire, func(*jwt.Token) (any, error) { return v.key, nil })
	if err != nil {
		return Principal{}, Claims{}, v.explain(parsed, err)
	}
	p, err := wire.principal()
	if err != nil {
		return Principal{}, Claims{}, err
	}
	if len(wire.Audience) != 1 || !slices.Contains(v.audiences, wire.Audience[0]) {
		return Principal{}, Claims{}, rpcerr.New(codes.Unauthenticated, ReasonIdentityAudience,
			"the caller's identity is for %q and this process is %q: compare the addresses of services in the caller's configuration",
			strings.Join(wire.Audience, ", "), strings.Join(v.audiences, ", "))
	}
	if err := wire.checkTime(now); err != nil {
		return Principal{}, Claims{}, err
	}
	claims := Claims{Issuer: wire.Issuer, Audience: wire.Audience[0], Run: wire.Run, ExpiresAt: wire.ExpiresAt.Time}
	v.kept.Add(token, verified{p, claims})
	return p, claims, nil
}

func invalid(format string, args ...any) error {
	return rpcerr.New(codes.Unauthenticated, ReasonIdentityInvalid,
		"the caller's signed identity is not valid: %s", fmt.Sprintf(format, args...))
}

var fingerprintShape = regexp.MustCompile(`^[0-9a-f]{16}$`)

// explain says why the parser refused; the parser's own words may quote the
// token.
func (v *Verifier) explain(parsed *jwt.Token, err error) error {
	if !errors.Is(err, jwt.ErrTokenSignatureInvalid) || parsed == nil || parsed.Method != jwt.SigningMethodEdDSA {
		return invalid("it is not a JSON web token signed with EdDSA")
	}
	own := Fingerprint(v.key)
	theirs, _ := parsed.Header["kid"].(string)
	switch {
	case theirs == own:
		return invalid("its signature does not fit, although it names the key %s of this process: it was changed on the way or is made up", own)
	case fingerprintShape.MatchString(theirs):
		theirs = "key " + theirs
	default:
		theirs = "another key"
	}
	return invalid("it is signed with %s and this process has key %s: give both processes the same key file (auth.signing_key_file, or identity.key in the data folder)", theirs, own)
}

func (c *wireClaims) principal() (Principal, error) {
	if !IsService(c.Issuer) {
		return Principal{}, invalid("its issuer %q is not a service of NanoClaw", c.Issuer)
	}
	p, err := parseSubject(c.Subject)
	if err != nil {
		return Principal{}, invalid("its subject is wrong: %v", err)
	}
	p.Scopes, p.TokenID = c.Scopes, c.TokenID
	return p, nil
}

// checkTime holds the identity to its time. A service signs at most half a life
// before it calls, so what is far outside came from another clock, or is an old
// one.
func (c *wireClaims) checkTime(now time.Time) error {
	if c.IssuedAt == nil || c.NotBefore == nil || c.ExpiresAt == nil {
		return invalid("it lacks iat, nbf or exp")
	}
	if life := c.ExpiresAt.Sub(c.IssuedAt.Time); life <= 0 || life > IdentityLife {
		return invalid("it lives %s, and %s is the most", life, IdentityLife)
	}
	begin := c.IssuedAt.Time
	if c.NotBefore.After(begin) {
		begin = c.NotBefore.Time
	}
	if ahead := begin.Sub(now); ahead > ClockLeeway {
		return expired("begins in the future", ahead)
	}
	if behind := now.Sub(c.ExpiresAt.Time); behind > ClockLeeway {
		return expired("is over", behind)
	}
	return nil
}

func expired(what string, by time.Duration) error {
	return rpcerr.New(codes.Unauthenticated, ReasonIdentityExpired,
		"the caller's signed identity %s by this machine's clock: the clocks of the two machines differ by at least %s (%s is allowed), or it is an old one; set the clocks right (NTP)",
		what, by.Round(time.Second), ClockLeeway)
}
