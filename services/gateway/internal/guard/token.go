package guard

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/gateway/internal/envelope"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// Cookie holds a browser's token.
const Cookie = "nanoclaw_token"

// linkParam is the query parameter of a sign-in link.
const linkParam = "token"

const cookieMaxAge = 365 * 24 * time.Hour

const howToSignIn = "open the address that `nanoclaw serve` printed, or send the header Authorization: Bearer <token>; `nanoclaw token create` makes one"

// principal finds out who r is made for.
func (g *Guard) principal(r *http.Request) (auth.Principal, envelope.Problem, bool) {
	token, sent := tokenOf(r)
	switch {
	case !sent && g.cfg.Anonymous != nil:
		return *g.cfg.Anonymous, envelope.Problem{}, true
	case !sent:
		return auth.Principal{}, envelope.New(http.StatusUnauthorized, auth.ReasonUnauthenticated,
			"a token is needed: %s", howToSignIn), false
	}
	p, err := g.cfg.Tokens.Principal(r.Context(), token)
	if err != nil {
		return auth.Principal{}, tokenProblem(err), false
	}
	return p, envelope.Problem{}, true
}

// tokenOf is the token that r brings. The header wins: a program that sends one
// means it, while a cookie is sent by itself.
func tokenOf(r *http.Request) (string, bool) {
	if h := r.Header.Get("Authorization"); h != "" {
		scheme, token, _ := strings.Cut(h, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return "", true
		}
		return strings.TrimSpace(token), true
	}
	if c, err := r.Cookie(Cookie); err == nil {
		return c.Value, true
	}
	return "", false
}

// tokenProblem tells a token that stands for nobody from one that could not be
// checked.
func tokenProblem(err error) envelope.Problem {
	if rpcerr.From(err).Code() == codes.Unauthenticated {
		return envelope.New(http.StatusUnauthorized, "TOKEN_INVALID",
			"the token is not valid or has ended: %s", howToSignIn)
	}
	return envelope.FromError(err)
}

func refuse(w http.ResponseWriter, r *http.Request, p envelope.Problem) {
	if p.Status == http.StatusUnauthorized {
		challenge := `Bearer realm="nanoclaw"`
		if p.Reason == "TOKEN_INVALID" {
			challenge += `, error="invalid_token"` // RFC 6750, section 3.1
		}
		w.Header().Set("WWW-Authenticate", challenge)
	}
	p.Write(w, r)
}

func (g *Guard) isLink(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Query().Has(linkParam) && g.cfg.Page(r)
}

// signIn turns the token of a link into a cookie.
func (g *Guard) signIn(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	token := query.Get(linkParam)
	if _, err := g.cfg.Tokens.Principal(r.Context(), token); err != nil {
		p := tokenProblem(err)
		if p.Reason == "TOKEN_INVALID" {
			p.Message = "the token in this link is not valid any more: open the address that `nanoclaw serve` printed last"
		}
		g.cfg.BadLink(w, r, p)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: Cookie, Value: token, Path: "/", MaxAge: int(cookieMaxAge.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	})
	query.Del(linkParam)
	// One leading slash: "//host" would lead to another server.
	clean := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, `/\`), RawQuery: query.Encode()}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Location", clean.String())
	w.WriteHeader(http.StatusSeeOther)
}
