package gateway

import (
	"errors"
	"net/http"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/gateway/internal/envelope"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// The routes of whole files. They are written by hand, since a contract knows
// neither forms nor files: one takes multipart/form-data and sends each part on
// while it comes, the other answers the bytes of a file.
const (
	uploadPattern   = "/api/workspaces/{workspace_id}/files"
	downloadPattern = "/api/workspaces/{workspace_id}/files/content"
)

// fileRoutes are the routes of whole files, beside those of the contracts.
func fileRoutes() []route {
	return []route{
		{method: http.MethodPost, pattern: uploadPattern, hasBody: true},
		{method: http.MethodGet, pattern: downloadPattern, parameters: []string{"path", "inline"}},
	}
}

func isUpload(r *http.Request) bool {
	return r.Method == http.MethodPost && matches(uploadPattern, r.URL.Path)
}

// serveFiles answers a request for whole files. It answers false when r is for
// another route.
func (g *Gateway) serveFiles(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case isUpload(r):
		g.upload(w, r)
	case !matches(downloadPattern, r.URL.Path):
		return false
	case r.Method != http.MethodGet:
		methodNotAllowed(w, r, allowed(g.routes, r.URL.Path))
	default:
		g.download(w, r)
	}
	return true
}

// workspaceOf is the id in the path of a route of files. It answers false, and
// has answered the request, when the address cannot be sent on.
func (g *Gateway) workspaceOf(w http.ResponseWriter, r *http.Request, pattern string) (string, bool) {
	nameSpan(r, pattern)
	id := strings.Split(r.URL.Path, "/")[3]
	if name, ok := notUTF8(r, map[string]string{"workspace_id": id}); !ok {
		envelope.FromError(rpcerr.InvalidArgument(name, "must be UTF-8")).Write(w, r)
		return "", false
	}
	if name, ok := g.unknownParameter(r, pattern); ok {
		envelope.FromError(rpcerr.InvalidArgument(name, noParameter)).Write(w, r)
		return "", false
	}
	return id, true
}

// refusal is what the gateway itself finds wrong with a request.
type refusal struct{ envelope.Problem }

func (r refusal) Error() string { return r.Message }

func refuse(status int, reason, format string, args ...any) error {
	return refusal{envelope.New(status, reason, format, args...)}
}

// problemOf is what the caller is told; what it is not told is logged.
func (g *Gateway) problemOf(r *http.Request, err error) envelope.Problem {
	if own, ok := errors.AsType[refusal](err); ok {
		return own.Problem
	}
	g.logFailure(r.Context(), err)
	return envelope.FromError(err)
}
