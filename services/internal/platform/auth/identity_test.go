package auth_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// keyFrom is a key of its own for each letter.
func keyFrom(letter byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(letter), ed25519.SeedSize)))
}

func publicOf(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

func newSigner(t testing.TB, key ed25519.PrivateKey, issuer string) *auth.Signer {
	t.Helper()
	s, err := auth.NewSigner(key, issuer)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newVerifier(t testing.TB, key ed25519.PrivateKey, audiences ...string) *auth.Verifier {
	t.Helper()
	v, err := auth.NewVerifier(publicOf(key), audiences...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestIdentityArrivesWhole(t *testing.T) {
	for _, tc := range []struct {
		name string
		p    auth.Principal
	}{
		{"a user with scopes and a token", auth.Principal{Kind: auth.KindUser, UserID: "01J8", TokenID: "t1", Scopes: []string{"chat", "search"}}},
		{"a user without scopes", auth.UserPrincipal("u1")},
		{"a user with a slash in the id", auth.UserPrincipal("a/b c\n", "*")},
		{"a service", auth.ServicePrincipal("gateway")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signer, verifier := newSigner(t, keyFrom('a'), "orchestrator"), newVerifier(t, keyFrom('a'), "fetcher", "search")
				token, err := signer.Sign(tc.p, "search", auth.ForRun("r1"))
				if err != nil {
					t.Fatal(err)
				}
				for range 2 { // the second time it is remembered
					p, claims, err := verifier.Verify(token)
					want := auth.Claims{Issuer: "orchestrator", Audience: "search", Run: "r1", ExpiresAt: time.Now().Add(60 * time.Second)}
					if err != nil || !reflect.DeepEqual(p, tc.p) || !claims.ExpiresAt.Equal(want.ExpiresAt) {
						t.Errorf("Verify = %+v, %+v, %v; want %+v, %+v", p, claims, err, tc.p, want)
					}
					claims.ExpiresAt = want.ExpiresAt
					if claims != want {
						t.Errorf("claims = %+v, want %+v", claims, want)
					}
				}
			})
		})
	}
}

func TestWhatCannotBeSigned(t *testing.T) {
	signer := newSigner(t, keyFrom('a'), "gateway")
	for _, tc := range []struct {
		name     string
		p        auth.Principal
		audience string
		want     string
	}{
		{"nobody", auth.Principal{}, "search", "neither"},
		{"a user without an id", auth.UserPrincipal(""), "search", "neither"},
		{"an unknown kind", auth.Principal{Kind: "root", UserID: "u1"}, "search", "neither"},
		{"a service that is not ours", auth.ServicePrincipal("mallory"), "search", "not a service"},
		{"an id that JSON would change", auth.UserPrincipal("a\xff"), "search", "UTF-8"},
		{"no audience", auth.UserPrincipal("u1"), "", "audience is missing"},
		{"scopes without end", auth.UserPrincipal("u1", strings.Repeat("x", 9000)), "search", "bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if token, err := signer.Sign(tc.p, tc.audience); err == nil || token != "" || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Sign = %q, %v; want %q in the error", token, err, tc.want)
			}
		})
	}
	for _, make := range []func() error{
		func() error { _, err := auth.NewSigner(nil, "gateway"); return err },
		func() error { _, err := auth.NewSigner(keyFrom('a'), "mallory"); return err },
		func() error { _, err := auth.NewVerifier(nil, "search"); return err },
		func() error { _, err := auth.NewVerifier(publicOf(keyFrom('a'))); return err },
		func() error { _, err := auth.NewVerifier(publicOf(keyFrom('a')), ""); return err },
	} {
		if err := make(); err == nil {
			t.Error("made from nonsense")
		}
	}
}

func TestSignerUsesAnIdentityForHalfItsLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signer := newSigner(t, keyFrom('a'), "gateway")
		sign := func(p auth.Principal, audience string, opts ...auth.SignOption) string {
			t.Helper()
			token, err := signer.Sign(p, audience, opts...)
			if err != nil {
				t.Fatal(err)
			}
			return token
		}
		user := auth.UserPrincipal("u1", "chat")
		first := sign(user, "search")
		time.Sleep(29 * time.Second)
		if sign(user, "search") != first {
			t.Error("signed again before half its life")
		}
		for name, other := range map[string]string{
			"another user":     sign(auth.UserPrincipal("u2", "chat"), "search"),
			"another audience": sign(user, "fetcher"),
			"more scopes":      sign(auth.UserPrincipal("u1", "chat", "tokens"), "search"),
			"another run":      sign(user, "search", auth.ForRun("r1")),
			"another token":    sign(auth.Principal{Kind: auth.KindUser, UserID: "u1", TokenID: "t", Scopes: []string{"chat"}}, "search"),
		} {
			if other == first {
				t.Errorf("%s got the same identity", name)
			}
		}
		first = sign(user, "search")
		time.Sleep(30 * time.Second)
		if sign(user, "search") == first {
			t.Error("not signed again after half its life")
		}
	})
}

// Clocks: the identity is made at one time and checked at another.
func TestIdentityOutsideOfItsTime(t *testing.T) {
	for _, tc := range []struct {
		name string
		skew time.Duration // how far the issuer's clock is behind ours
		want string        // in the error; empty: accepted
	}{
		{"equal clocks", 0, ""},
		{"a caller 29 s behind, with an identity at half its life", 59 * time.Second, ""},
		{"at the end of life and leeway", 90 * time.Second, ""},
		{"beyond it", 92 * time.Second, "differ by at least 32s"},
		{"a caller ten minutes behind", 10 * time.Minute, "differ by at least 9m0s"},
		{"a caller 29 s ahead", -29 * time.Second, ""},
		{"a caller five minutes ahead", -5 * time.Minute, "differ by at least 5m0s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				key := keyFrom('a')
				token := mint(t, key, time.Now().Add(-tc.skew), nil)
				_, _, err := newVerifier(t, key, "search").Verify(token)
				if tc.want == "" {
					if err != nil {
						t.Errorf("refused: %v", err)
					}
					return
				}
				requireRefusal(t, err, auth.ReasonIdentityExpired, tc.want, token)
				if !strings.Contains(err.Error(), "NTP") {
					t.Errorf("error = %v, want what to do", err)
				}
			})
		})
	}
}

func TestRememberedIdentityExpiresToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token, err := newSigner(t, keyFrom('a'), "gateway").Sign(auth.UserPrincipal("u1"), "search")
		if err != nil {
			t.Fatal(err)
		}
		verifier := newVerifier(t, keyFrom('a'), "search")
		if _, _, err := verifier.Verify(token); err != nil {
			t.Fatal(err)
		}
		time.Sleep(auth.IdentityLife + auth.ClockLeeway + time.Second)
		_, _, err = verifier.Verify(token)
		requireRefusal(t, err, auth.ReasonIdentityExpired, "is over", token)
	})
}

// mint makes a token by hand. change may alter header and claims.
func mint(t testing.TB, key any, at time.Time, change func(header, claims map[string]any)) string {
	t.Helper()
	claims := jwt.MapClaims{
		"iss": "gateway", "sub": "user/u1", "aud": []string{"search"}, "scopes": []string{"*"},
		"iat": at.Unix(), "nbf": at.Unix(), "exp": at.Add(auth.IdentityLife).Unix(),
	}
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
	if change != nil {
		change(token.Header, claims)
	}
	switch key.(type) {
	case []byte:
		token.Method = jwt.SigningMethodHS256
	case ed25519.PrivateKey:
	default:
		token.Method = jwt.SigningMethodNone
	}
	if _, fixed := token.Header["fixed"]; !fixed {
		token.Header["alg"] = token.Method.Alg()
	}
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func requireRefusal(t testing.TB, err error, reason, words, token string) {
	t.Helper()
	if rpcerr.From(err).Code() != codes.Unauthenticated || rpcerr.Reason(err) != reason || !strings.Contains(err.Error(), words) {
		t.Fatalf("error = %v (reason %q), want %s with %q", err, rpcerr.Reason(err), reason, words)
	}
	for _, part := range strings.Split(token, ".") {
		if len(part) > 8 && strings.Contains(err.Error(), part) {
			t.Errorf("the error holds a part of the token: %v", err)
		}
	}
}

func TestForgedAndTwistedIdentities(t *testing.T) {
	key, other := keyFrom('a'), keyFrom('b')
	now := time.Now()
	good := mint(t, key, now, nil)
	if _, _, err := newVerifier(t, key, "search").Verify(good); err != nil {
		t.Fatalf("what is not twisted is refused: %v", err)
	}
	parts := strings.Split(good, ".")
	set := func(name string, value any) func(header, claims map[string]any) {
		return func(_, claims map[string]any) {
			if value == nil {
				delete(claims, name)
				return
			}
			claims[name] = value
		}
	}
	for _, tc := range []struct {
		name   string
		token  string
		reason string
		words  string
	}{
		{"empty", "", auth.ReasonIdentityInvalid, "not a JSON web token"},
		{"an API token", "nc_0123456789", auth.ReasonIdentityInvalid, "not a JSON web token"},
		{"too long", strings.Repeat("a", 9000), auth.ReasonIdentityInvalid, "bytes"},
		{"alg none", mint(t, jwt.UnsafeAllowNoneSignatureType, now, nil), auth.ReasonIdentityInvalid, "signed with EdDSA"},
		{"alg none in mixed case", strings.Replace(good, parts[0], base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"nOnE","typ":"JWT"}`)), 1), auth.ReasonIdentityInvalid, "signed with EdDSA"},
		{"HS256 with the public key as its secret", mint(t, []byte(publicOf(key)), now, nil), auth.ReasonIdentityInvalid, "signed with EdDSA"},
		{"HS256 that claims to be EdDSA", mint(t, []byte(publicOf(key)), now, func(h, _ map[string]any) { h["fixed"] = true }), auth.ReasonIdentityInvalid, "another key"},
		{"another key, unnamed", mint(t, other, now, nil), auth.ReasonIdentityInvalid, "another key and this process has key " + auth.Fingerprint(publicOf(key))},
		{"another key that names itself", mint(t, other, now, func(h, _ map[string]any) { h["kid"] = auth.Fingerprint(publicOf(other)) }), auth.ReasonIdentityInvalid, auth.Fingerprint(publicOf(other))},
		{"another key that names ours", mint(t, other, now, func(h, _ map[string]any) { h["kid"] = auth.Fingerprint(publicOf(key)) }), auth.ReasonIdentityInvalid, "made up"},
		{"another key whose name is an attack on the log", mint(t, other, now, func(h, _ map[string]any) { h["kid"] = "\n\x1b[31mroot" }), auth.ReasonIdentityInvalid, "with another key and"},
		{"without its signature", parts[0] + "." + parts[1] + ".", auth.ReasonIdentityInvalid, "another key"},
		{"claims of another", parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"gateway","sub":"user/root","aud":["search"]}`)) + "." + parts[2], auth.ReasonIdentityInvalid, "another key"},
		{"two tokens", good + "." + good, auth.ReasonIdentityInvalid, "not a JSON web token"},
		{"an issuer that is not ours", mint(t, key, now, set("iss", "mallory")), auth.ReasonIdentityInvalid, `"mallory"`},
		{"no issuer", mint(t, key, now, set("iss", nil)), auth.ReasonIdentityInvalid, "issuer"},
		{"no subject", mint(t, key, now, set("sub", nil)), auth.ReasonIdentityInvalid, "subject"},
		{"a user without an id", mint(t, key, now, set("sub", "user/")), auth.ReasonIdentityInvalid, "subject"},
		{"an unknown kind", mint(t, key, now, set("sub", "root/u1")), auth.ReasonIdentityInvalid, "subject"},
		{"an unknown service", mint(t, key, now, set("sub", "service/mallory")), auth.ReasonIdentityInvalid, "subject"},
		{"another audience", mint(t, key, now, set("aud", []string{"fetcher"})), auth.ReasonIdentityAudience, `for "fetcher" and this process is "search"`},
		{"two audiences", mint(t, key, now, set("aud", []string{"search", "fetcher"})), auth.ReasonIdentityAudience, "search, fetcher"},
		{"no audience", mint(t, key, now, set("aud", nil)), auth.ReasonIdentityAudience, ""},
		{"an audience that begins like ours", mint(t, key, now, set("aud", []string{"searcher"})), auth.ReasonIdentityAudience, ""},
		{"no expiry", mint(t, key, now, set("exp", nil)), auth.ReasonIdentityInvalid, "lacks"},
		{"no iat", mint(t, key, now, set("iat", nil)), auth.ReasonIdentityInvalid, "lacks"},
		{"no nbf", mint(t, key, now, set("nbf", nil)), auth.ReasonIdentityInvalid, "lacks"},
		{"a life of a year", mint(t, key, now, set("exp", now.Add(365*24*time.Hour).Unix())), auth.ReasonIdentityInvalid, "lives"},
		{"a life that ends before it begins", mint(t, key, now, set("exp", now.Add(-time.Second).Unix())), auth.ReasonIdentityInvalid, "lives"},
		{"to be used later", mint(t, key, now, set("nbf", now.Add(time.Hour).Unix())), auth.ReasonIdentityExpired, "future"},
		{"times that are text", mint(t, key, now, set("exp", "soon")), auth.ReasonIdentityInvalid, ""},
		{"scopes that are no list", mint(t, key, now, set("scopes", "*")), auth.ReasonIdentityInvalid, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, claims, err := newVerifier(t, key, "search").Verify(tc.token)
			requireRefusal(t, err, tc.reason, tc.words, tc.token)
			if p.ID() != "" || claims != (auth.Claims{}) {
				t.Errorf("refused, but answered %+v, %+v", p, claims)
			}
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("the error carries control characters: %q", err)
			}
		})
	}
}

func FuzzVerify(f *testing.F) {
	key := keyFrom('a')
	now := time.Now()
	f.Add(mint(f, key, now, nil))
	f.Add(mint(f, keyFrom('b'), now, nil))
	f.Add(mint(f, []byte("secret"), now, nil))
	f.Add("..")
	f.Add("eyJhbGciOiJFZERTQSJ9.e30.")
	verifier, err := auth.NewVerifier(publicOf(key), "search")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, token string) {
		p, claims, err := verifier.Verify(token)
		if err == nil {
			if p.ID() != "user/u1" || claims.Audience != "search" {
				t.Fatalf("%q was taken as %+v, %+v", token, p, claims)
			}
			return
		}
		var refusal *rpcerr.Error
		if !errors.As(err, &refusal) || refusal.Code() != codes.Unauthenticated || p.ID() != "" {
			t.Fatalf("%q: %+v, %v", token, p, err)
		}
	})
}

func BenchmarkIdentity(b *testing.B) {
	key := keyFrom('a')
	user := auth.UserPrincipal("u1", "*")
	b.Run("sign afresh", func(b *testing.B) {
		for b.Loop() {
			if _, err := newSigner(b, key, "gateway").Sign(user, "search"); err != nil {
				b.Fatal(err)
			}
		}
	})
	signer, verifier := newSigner(b, key, "gateway"), newVerifier(b, key, "search")
	b.Run("sign and verify as kept", func(b *testing.B) {
		for b.Loop() {
			token, err := signer.Sign(user, "search")
			if err != nil {
				b.Fatal(err)
			}
			if _, _, err := verifier.Verify(token); err != nil {
				b.Fatal(err)
			}
		}
	})
}
