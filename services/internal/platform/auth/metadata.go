package auth

import (
	"fmt"
	"net/url"
	"strings"

	"google.golang.org/grpc/metadata"
)

// Metadata keys of a principal. They are believed on the in-process listener
// only; everywhere else a caller could have written them.
const (
	// MetadataPrefix starts every key by which our processes talk about
	// identity. An edge must drop such keys from outside.
	MetadataPrefix = "x-nanoclaw-"

	keyUser    = MetadataPrefix + "user"
	keyKind    = MetadataPrefix + "kind"
	keyService = MetadataPrefix + "service"
	keyScopes  = MetadataPrefix + "scopes"
	keyTokenID = MetadataPrefix + "token-id"
)

// IsReserved says whether a metadata key, in lower case, is one of those.
func IsReserved(key string) bool { return strings.HasPrefix(key, MetadataPrefix) }

// ToMetadata writes p as outgoing metadata. Values are percent-encoded, since
// metadata is ASCII.
func ToMetadata(p Principal) metadata.MD {
	md := metadata.Pairs(keyKind, string(p.Kind))
	set := func(key, value string) {
		if value != "" {
			md.Set(key, url.QueryEscape(value))
		}
	}
	set(keyUser, p.UserID)
	set(keyService, p.Service)
	set(keyTokenID, p.TokenID)
	if len(p.Scopes) > 0 {
		escaped := make([]string, len(p.Scopes))
		for i, s := range p.Scopes {
			escaped[i] = url.QueryEscape(s)
		}
		md.Set(keyScopes, strings.Join(escaped, " "))
	}
	return md
}

// FromMetadata reads what ToMetadata wrote. It answers false and no error when
// md speaks of no principal, and an error when what it says makes no sense: an
// unknown kind, a user without an id, a key given twice.
func FromMetadata(md metadata.MD) (Principal, bool, error) {
	var firstErr error
	fail := func(format string, args ...any) {
		if firstErr == nil {
			firstErr = fmt.Errorf("read principal from metadata: "+format, args...)
		}
	}
	raw := func(key string) string {
		values := md.Get(key)
		if len(values) > 1 {
			fail("%s is given %d times", key, len(values))
		}
		if len(values) == 0 {
			return ""
		}
		return values[0]
	}
	unescape := func(key, value string) string {
		plain, err := url.QueryUnescape(value)
		if err != nil {
			fail("%s is not percent-encoded: %w", key, err)
		}
		return plain
	}

	if len(md.Get(keyKind)) == 0 && len(md.Get(keyUser)) == 0 && len(md.Get(keyService)) == 0 {
		return Principal{}, false, nil
	}
	p := Principal{
		Kind:    Kind(raw(keyKind)),
		UserID:  unescape(keyUser, raw(keyUser)),
		Service: unescape(keyService, raw(keyService)),
		TokenID: unescape(keyTokenID, raw(keyTokenID)),
	}
	for _, s := range strings.Fields(raw(keyScopes)) {
		p.Scopes = append(p.Scopes, unescape(keyScopes, s))
	}
	switch {
	case p.Kind == KindUser && p.UserID == "":
		fail("%s is missing for a user", keyUser)
	case p.Kind == KindService && p.Service == "":
		fail("%s is missing for a service", keyService)
	case p.Kind != KindUser && p.Kind != KindService:
		fail("%s is %q, want user or service", keyKind, p.Kind)
	}
	if firstErr != nil {
		return Principal{}, false, firstErr
	}
	return p, true, nil
}
