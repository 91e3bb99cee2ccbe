package auth

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"
	lru "github.com/hashicorp/golang-lru/v2"
)

// Signer signs identities for the calls of one service. It is safe for
// concurrent use.
type Signer struct {
	key    ed25519.PrivateKey
	kid    string
	issuer string
	kept   *lru.Cache[signedKey, signed]
}

type signedKey struct{ subject, tokenID, audience, run string }

// signed is used until half its life, so that whoever gets it has the other
// half.
type signed struct {
	token  string
	scopes []string
	until  time.Time
}

// NewSigner signs with key for the service issuer, one of those that
// [IsService] knows.
func NewSigner(key ed25519.PrivateKey, issuer string) (*Signer, error) {
	if len(key) != ed25519.PrivateKeySize {
		return nil, errors.New("sign identities: the key is not an Ed25519 key")
	}
	if !IsService(issuer) {
		return nil, fmt.Errorf("sign identities: %q is not a service of NanoClaw", issuer)
	}
	kept, err := lru.New[signedKey, signed](maxKeptIdentities)
	if err != nil {
		return nil, fmt.Errorf("sign identities: %w", err)
	}
	public, _ := key.Public().(ed25519.PublicKey)
	return &Signer{key: key, kid: Fingerprint(public), issuer: issuer, kept: kept}, nil
}

// Issuer is the service that it signs for.
func (s *Signer) Issuer() string { return s.issuer }

// SignOption adds to an identity.
type SignOption func(*wireClaims)

// ForRun names the run that the call is part of.
func ForRun(runID string) SignOption { return func(c *wireClaims) { c.Run = runID } }

// Sign makes the identity of p for calls to the service audience, good for at
// least half of [IdentityLife]. It may be one that was made before.
func (s *Signer) Sign(p Principal, audience string, opts ...SignOption) (string, error) {
	sub, err := subject(p)
	if err != nil {
		return "", fmt.Errorf("sign identity %q: %w", p.ID(), err)
	}
	if audience == "" {
		return "", fmt.Errorf("sign identity %q: the audience is missing", sub)
	}
	now := time.Now()
	claims := wireClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer:    s.issuer,
			Subject:   sub,
			Audience:  jwt.ClaimStrings{audience},
			IssuedAt:  jwt.NewNumericDate(now),
			NotBefore: jwt.NewNumericDate(now),
			ExpiresAt: jwt.NewNumericDate(now.Add(IdentityLife)),
		},
		Scopes:  p.Scopes,
		TokenID: p.TokenID,
	}
	for _, opt := range opts {
		opt(&claims)
	}
	key := signedKey{sub, p.TokenID, audience, claims.Run}
	if hit, ok := s.kept.Get(key); ok && now.Before(hit.until) && slices.Equal(hit.scopes, p.Scopes) {
		return hit.token, nil
	}
	unsigned := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
	unsigned.Header["kid"] = s.kid
	token, err := unsigned.SignedString(s.key)
	if err != nil {
		return "", fmt.Errorf("sign identity %q: %w", sub, err)
	}
	if len(token) > maxIdentityBytes {
		return "", fmt.Errorf("sign identity %q: it has %d bytes, more than the %d that are taken", sub, len(token), maxIdentityBytes)
	}
	s.kept.Add(key, signed{token, slices.Clone(p.Scopes), now.Add(IdentityLife / 2)})
	return token, nil
}
