package auth_test

import (
	"reflect"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

func TestScopes(t *testing.T) {
	for _, tc := range []struct {
		name   string
		scopes []string
		scope  string
		want   bool
	}{
		{"a named scope is held", []string{"search", "chat"}, "chat", true},
		{"another is not", []string{"search"}, "chat", false},
		{"the star holds every scope", []string{"*"}, "tokens", true},
		{"no scopes hold nothing", nil, "chat", false},
		{"what asks for no scope is open to all", nil, "", true},
		{"a prefix is not a scope", []string{"chatter"}, "chat", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := auth.UserPrincipal("u1", tc.scopes...).Has(tc.scope); got != tc.want {
				t.Errorf("Has(%q) = %v, want %v", tc.scope, got, tc.want)
			}
		})
	}
}

func TestRequire(t *testing.T) {
	nobody := t.Context()
	user := auth.NewContext(nobody, auth.UserPrincipal("u1"))
	service := auth.NewContext(user, auth.ServicePrincipal("gateway"))

	if _, err := auth.Require(nobody); rpcerr.From(err).Code() != codes.Unauthenticated {
		t.Errorf("Require without a principal = %v, want UNAUTHENTICATED", err)
	}
	if p, err := auth.Require(user); err != nil || p.UserID != "u1" || p.ID() != "user/u1" {
		t.Errorf("Require = %+v, %v", p, err)
	}
	if p, err := auth.Require(service); err != nil || p.ID() != "service/gateway" || p.UserID != "" {
		t.Errorf("the inner principal must win: %+v, %v", p, err)
	}
	if _, err := auth.RequireUser(nobody); rpcerr.From(err).Code() != codes.Unauthenticated {
		t.Errorf("RequireUser without a principal = %v, want UNAUTHENTICATED", err)
	}
	if p, err := auth.RequireUser(user); err != nil || p.UserID != "u1" {
		t.Errorf("RequireUser = %+v, %v", p, err)
	}
	if _, err := auth.RequireUser(service); rpcerr.Reason(err) != auth.ReasonUserRequired {
		t.Errorf("RequireUser for a service = %v, want %s", err, auth.ReasonUserRequired)
	}
	if id := (auth.Principal{}).ID(); id != "" {
		t.Errorf("nobody's ID = %q, want none", id)
	}
}

func TestMetadataRoundTrip(t *testing.T) {
	for _, tc := range []struct {
		name string
		p    auth.Principal
	}{
		{"a user with everything", auth.Principal{Kind: auth.KindUser, UserID: "01J8", Service: "gateway", TokenID: "t1", Scopes: []string{"chat", "*"}}},
		{"a service", auth.ServicePrincipal("orchestrator")},
		{"a user without scopes", auth.UserPrincipal("u1")},
		{"text that metadata could not carry", auth.Principal{Kind: auth.KindUser, UserID: "Zoë, \n100 %", Scopes: []string{"a b", "é"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			md := auth.ToMetadata(tc.p)
			for key, values := range md {
				for _, r := range values[0] {
					if r < 0x20 || r > 0x7e {
						t.Errorf("%s: %q is not printable ASCII", key, values[0])
					}
				}
			}
			got, ok, err := auth.FromMetadata(md)
			if err != nil || !ok || !reflect.DeepEqual(got, tc.p) {
				t.Errorf("FromMetadata = %+v, %v, %v; want %+v", got, ok, err, tc.p)
			}
		})
	}
}

func TestMetadataThatMakesNoSense(t *testing.T) {
	for _, tc := range []struct {
		name    string
		md      metadata.MD
		wantErr bool
	}{
		{"nothing at all is nobody", metadata.MD{}, false},
		{"scopes alone are nobody", metadata.Pairs("x-nanoclaw-scopes", "*"), false},
		{"a user without an id", metadata.Pairs("x-nanoclaw-kind", "user"), true},
		{"a service without a name", metadata.Pairs("x-nanoclaw-kind", "service"), true},
		{"an id without a kind", metadata.Pairs("x-nanoclaw-user", "u1"), true},
		{"an unknown kind", metadata.Pairs("x-nanoclaw-kind", "root", "x-nanoclaw-user", "u1"), true},
		{"two users", metadata.Pairs("x-nanoclaw-kind", "user", "x-nanoclaw-user", "u1", "x-nanoclaw-user", "u2"), true},
		{"a broken escape", metadata.Pairs("x-nanoclaw-kind", "user", "x-nanoclaw-user", "%zz"), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, ok, err := auth.FromMetadata(tc.md)
			if ok || (err != nil) != tc.wantErr || !reflect.DeepEqual(p, auth.Principal{}) {
				t.Errorf("FromMetadata = %+v, %v, %v; want nobody, error %v", p, ok, err, tc.wantErr)
			}
		})
	}
}

func FuzzFromMetadata(f *testing.F) {
	f.Add("user", "u1", "", "chat tools", "t1")
	f.Add("service", "", "gateway", "*", "")
	f.Add("user", "%zz", "+", "%20 %", "\x00")
	f.Fuzz(func(t *testing.T, kind, user, service, scopes, token string) {
		p, ok, err := auth.FromMetadata(metadata.Pairs("x-nanoclaw-kind", kind, "x-nanoclaw-user", user,
			"x-nanoclaw-service", service, "x-nanoclaw-scopes", scopes, "x-nanoclaw-token-id", token))
		if !ok {
			return
		}
		if err != nil || p.ID() == "" {
			t.Fatalf("accepted %+v with error %v", p, err)
		}
		again, ok, err := auth.FromMetadata(auth.ToMetadata(p))
		if !ok || err != nil || !reflect.DeepEqual(again, p) {
			t.Fatalf("round trip of %+v = %+v, %v, %v", p, again, ok, err)
		}
	})
}
