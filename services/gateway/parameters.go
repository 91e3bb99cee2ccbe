package gateway

import (
	"maps"
	"net/http"
	"regexp"
	"slices"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/gateway/internal/body"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// The runtime says only in words which parameter of the path or the query it
// could not read, and why.
var (
	unreadable = regexp.MustCompile(`^(?:parsing (?:field|list) "([^"]+)": |type mismatch, parameter: (\S+), error: )(?:strconv\.(\w+): )?`)
	given      = regexp.MustCompile(`^(?:too many values for|duplicate) field "([^"]+)"`)
)

// parameterWords are for the functions that read parameters.
var parameterWords = map[string]string{
	"ParseInt": "must be a whole number", "ParseUint": "must be a whole number from 0",
	"ParseFloat": "must be a number", "ParseBool": "must be true or false",
}

// noParameter is said of a parameter of the query that a route does not have.
const noParameter = "is no query parameter of this route: see /docs"

// unknownParameter finds a parameter of the query that the route of a pattern
// does not have, which would be ignored without a word. Routes without our
// conventions take any.
func (g *Gateway) unknownParameter(r *http.Request, pattern string) (name string, found bool) {
	if isBare(pattern) {
		return "", false
	}
	known := g.byPattern[r.Method+" "+pattern].parameters
	for _, name := range slices.Sorted(maps.Keys(r.URL.Query())) {
		if !slices.Contains(known, name) {
			return clip(name), true
		}
	}
	return "", false
}

// shapeParameter gives the runtime's own refusal of a parameter the shape of
// every other. An error of a service, which has that shape, stays as it is.
func shapeParameter(err error) error {
	s := rpcerr.From(err)
	if s.Code() != codes.InvalidArgument || rpcerr.StatusReason(s) != "" {
		return err
	}
	if m := given.FindStringSubmatch(s.Message()); m != nil {
		return rpcerr.InvalidArgument(m[1], "is given more than once")
	}
	m := unreadable.FindStringSubmatch(s.Message())
	if m == nil {
		return rpcerr.New(codes.InvalidArgument, body.ReasonInvalidArgument,
			"the parameters in the address do not fit this route: see /docs").WithCause(err)
	}
	words := parameterWords[m[3]]
	if words == "" {
		words = "has a value of another type"
	}
	return rpcerr.InvalidArgument(m[1]+m[2], words)
}
