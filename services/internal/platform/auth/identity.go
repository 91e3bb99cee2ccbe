package auth

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"
)

// IdentityHeader is the metadata key of a signed identity: a JSON web token
// (RFC 7519), signed with Ed25519 (RFC 8037).
const IdentityHeader = MetadataPrefix + "identity"

const (
	// IdentityLife is how long a signed identity is good for.
	IdentityLife = 60 * time.Second
	// ClockLeeway is how far the clocks of two machines may be apart.
	ClockLeeway = 30 * time.Second

	// No identity of ours comes near this size.
	maxIdentityBytes = 8 << 10
	// A signer and a verifier keep this many identities each.
	maxKeptIdentities = 4096
)

// Claims are what a signed identity says beside its principal.
type Claims struct {
	// Issuer is the service that made the call.
	Issuer string
	// Audience is the service that was called: "search", or "provider:<name>"
	// for a foreign provider of tools.
	Audience string
	// Run is the run that the call is part of, if any.
	Run string
	// ExpiresAt is by the issuer's clock.
	ExpiresAt time.Time
}

// wireClaims is the payload of the token. The subject is [Principal.ID].
type wireClaims struct {
	jwt.RegisteredClaims
	Scopes  []string `json:"scopes,omitempty"`
	TokenID string   `json:"tid,omitempty"`
	Run     string   `json:"run,omitempty"`
}

// IsService says whether name is a service of ours, which may sign.
func IsService(name string) bool {
	switch name {
	case "gateway", "orchestrator", "search", "fetcher", "task-manager", "sandbox":
		return true
	}
	return false
}

// Fingerprint names a public key: the start of its SHA-256, 16 hex digits. It
// tells people which of two keys a process has, and gives nothing away.
func Fingerprint(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:8])
}

// subject is p as the subject of a token, checked for what parseSubject reads.
func subject(p Principal) (string, error) {
	id := p.ID()
	if !utf8.ValidString(id) {
		return "", errors.New("its id is not UTF-8")
	}
	if _, err := parseSubject(id); err != nil {
		return "", err
	}
	return id, nil
}

// parseSubject reads "user/<id>" and "service/<name>".
func parseSubject(sub string) (Principal, error) {
	kind, id, _ := strings.Cut(sub, "/")
	switch {
	case Kind(kind) == KindUser && id != "":
		return Principal{Kind: KindUser, UserID: id}, nil
	case Kind(kind) == KindService && IsService(id):
		return Principal{Kind: KindService, Service: id}, nil
	case Kind(kind) == KindService:
		return Principal{}, fmt.Errorf("%q is not a service of NanoClaw", id)
	}
	return Principal{}, errors.New(`it is neither "user/<id>" nor "service/<name>"`)
}

type runKey struct{}

// WithRun says which run the calls made under ctx are part of; signed
// identities carry it on, for the records of whoever is called.
func WithRun(ctx context.Context, runID string) context.Context {
	return context.WithValue(ctx, runKey{}, runID)
}

// Run is the run of WithRun, empty when there is none.
func Run(ctx context.Context) string {
	id, _ := ctx.Value(runKey{}).(string)
	return id
}
