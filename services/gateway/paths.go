package gateway

import (
	"net/http"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/gateway/internal/envelope"
	"github.com/nanoclaw/nanoclaw/services/gateway/internal/webui"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
)

// class is which part of the gateway a path belongs to.
type class int

const (
	classApp class = iota // the web app's files
	classHealth
	classDocs
	classAPI
	classReserved // kept for interfaces to come; never the app's
)

const chatPath = "/chat"

func classOf(path string) class {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch {
	case path == "/healthz" || path == "/readyz":
		return classHealth
	case path == "/openapi.yaml" || path == "/docs":
		return classDocs
	case first == "api" || path == chatPath:
		return classAPI
	case first == "v1" || first == "mcp":
		return classReserved
	}
	return classApp
}

func isRead(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// isOpen says that a request needs no token.
func isOpen(r *http.Request) bool {
	c := classOf(r.URL.Path)
	return isRead(r) && (c == classHealth || c == classApp)
}

// isPage says that a request may be a sign-in link.
func isPage(r *http.Request) bool { return classOf(r.URL.Path) == classApp || r.URL.Path == "/docs" }

// route sends a request that passed the guard to its part.
func (g *Gateway) route(w http.ResponseWriter, r *http.Request) {
	if p, ok := auth.FromContext(r.Context()); ok {
		notesOf(r.Context()).user = p.UserID
	}
	c := classOf(r.URL.Path)
	switch {
	case c == classAPI:
		g.api(w, r)
		return
	case c == classReserved:
		notFound(w, r)
		return
	case !isRead(r):
		methodNotAllowed(w, r, []string{http.MethodGet, http.MethodHead})
		return
	}
	switch r.URL.Path {
	case "/healthz":
		healthz(w, r)
	case "/readyz":
		g.readyz(w, r)
	case "/openapi.yaml":
		nameSpan(r, r.URL.Path)
		w.Header().Set("Content-Type", "application/yaml")
		w.Header().Set("Cache-Control", "no-cache")
		_, _ = w.Write(g.document.YAML())
	case "/docs":
		nameSpan(r, r.URL.Path)
		webui.WriteHTML(w, r, http.StatusOK, g.docs)
	default:
		nameSpan(r, "/*")
		g.app.ServeHTTP(w, r)
	}
}

func notFound(w http.ResponseWriter, r *http.Request) {
	envelope.New(http.StatusNotFound, "NOT_FOUND", "there is no route %s %s: see /docs", r.Method, clip(r.URL.Path)).Write(w, r)
}

func methodNotAllowed(w http.ResponseWriter, r *http.Request, methods []string) {
	allow := strings.Join(methods, ", ")
	w.Header().Set("Allow", allow)
	envelope.New(http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "%s is not possible here: only %s", r.Method, allow).Write(w, r)
}

func clip(s string) string {
	const most = 100
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
