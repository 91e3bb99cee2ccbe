package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/gateway/internal/body"
	"github.com/nanoclaw/nanoclaw/services/gateway/internal/envelope"
	"github.com/nanoclaw/nanoclaw/services/gateway/internal/sse"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// jsonMarshaler writes answers with protojson and reads requests strictly.
type jsonMarshaler struct{ *runtime.JSONPb }

func (jsonMarshaler) NewDecoder(r io.Reader) runtime.Decoder { return body.Decoder{In: r} }

func (g *Gateway) newMux() *runtime.ServeMux {
	pb := &runtime.JSONPb{MarshalOptions: protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}}
	return runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, jsonMarshaler{pb}),
		runtime.WithMarshalerOption(sse.ContentType, sse.Marshaler{JSONPb: pb}),
		runtime.WithMiddlewares(g.perRoute),
		runtime.WithForwardResponseRewriter(wrap),
		runtime.WithForwardResponseOption(acceptedWhileWaiting),
		runtime.WithErrorHandler(g.onError),
		runtime.WithStreamErrorHandler(g.onStreamError),
		runtime.WithRoutingErrorHandler(g.onRoutingError),
		runtime.WithIncomingHeaderMatcher(headerIn),
		runtime.WithOutgoingHeaderMatcher(nothingOut),
		runtime.WithOutgoingTrailerMatcher(nothingOut),
		runtime.WithDisableHTTPMethodOverride(),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableChunkedEncoding(),
	)
}

// perRoute runs between the choice of the route and its generated handler.
func (g *Gateway) perRoute(next runtime.HandlerFunc) runtime.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, params map[string]string) {
		p, _ := runtime.HTTPPattern(r.Context())
		pattern := strings.ReplaceAll(p.String(), "=*}", "}")
		nameSpan(r, strings.TrimSuffix(pattern, streamVerb)) // as callers know it
		if name, ok := notUTF8(r, params); !ok {
			envelope.FromError(rpcerr.InvalidArgument(name, "must be UTF-8")).Write(w, r)
			return
		}
		if name, ok := g.unknownParameter(r, pattern); ok {
			envelope.FromError(rpcerr.InvalidArgument(name, noParameter)).Write(w, r)
			return
		}
		if b := body.Of(r); b != nil {
			b.Lenient, b.Path = isBare(pattern), params
		}
		if !g.byPattern[r.Method+" "+pattern].streams {
			r.Header.Del("Accept") // the runtime takes it for the name of a marshaler
			next(w, r, params)
			return
		}
		if g.streams.Drain.Err() != nil {
			draining().Write(w, r)
			return
		}
		r.Header.Set("Accept", sse.ContentType)
		sse.Serve(w, r, g.streams, func(w http.ResponseWriter, r *http.Request) { next(w, r, params) })
	}
}

// notUTF8 finds a parameter of the path or the query that no message can carry,
// and answers its name and false.
func notUTF8(r *http.Request, params map[string]string) (name string, ok bool) {
	for name, value := range params {
		if !utf8.ValidString(value) {
			return name, false
		}
	}
	for name, values := range r.URL.Query() {
		for _, text := range append(values, name) {
			if !utf8.ValidString(text) {
				return strings.ToValidUTF8(name, "\uFFFD"), false
			}
		}
	}
	return "", true
}

// isBare says that a route answers and is asked without our conventions: no
// envelope, and unknown fields are ignored.
func isBare(pattern string) bool { return pattern == chatPath }

// responseBody is implemented by answers of routes with a response_body.
type responseBody interface{ XXX_ResponseBody() any }

// wrap puts an answer into the envelope. Events and bare answers stay as they
// are.
func wrap(ctx context.Context, msg proto.Message) (any, error) {
	if sse.FromContext(ctx) != nil {
		return msg, nil
	}
	var data any = msg
	if b, ok := msg.(responseBody); ok {
		data = b.XXX_ResponseBody()
	}
	if pattern, _ := runtime.HTTPPathPattern(ctx); isBare(pattern) {
		return data, nil
	}
	return envelope.Success(data), nil
}

// acceptedWhileWaiting answers 202 when the run of a message waits for a person.
func acceptedWhileWaiting(ctx context.Context, w http.ResponseWriter, msg proto.Message) error {
	answer, ok := msg.(interface {
		GetMessage() *orchestratorv1.Message
	})
	if ok && answer.GetMessage().GetStatus() == "waiting" {
		w.WriteHeader(http.StatusAccepted)
	}
	return nil
}

func (g *Gateway) onError(ctx context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, err error) {
	if failure := body.Failure(r); failure != nil {
		err = failure // the runtime flattened it into text
	}
	var malformed *runtime.HTTPStatusError
	if errors.As(err, &malformed) {
		envelope.New(malformed.HTTPStatus, body.ReasonInvalidArgument, "the path is not valid: %s", malformed.Err).Write(w, r)
		return
	}
	err = shapeParameter(err)
	g.logFailure(ctx, err)
	if s, ok := w.(*sse.Stream); ok {
		s.Fail(err)
		return
	}
	envelope.FromError(err).Write(w, r)
}

func (g *Gateway) onStreamError(ctx context.Context, err error) *status.Status {
	g.logFailure(ctx, err)
	if s := sse.FromContext(ctx); s != nil {
		s.Fail(err)
	}
	return status.Convert(err) // for the runtime, whose own words the ended stream drops
}

// logFailure keeps what the caller is not shown.
func (g *Gateway) logFailure(ctx context.Context, err error) {
	if ctx.Err() == nil && envelope.FromError(err).Status >= http.StatusInternalServerError {
		g.log.WarnContext(ctx, "a service failed", "error", err)
	}
}

func (g *Gateway) onRoutingError(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, httpStatus int) {
	switch httpStatus {
	case http.StatusMethodNotAllowed:
		methodNotAllowed(w, r, allowed(g.routes, r.URL.Path))
	case http.StatusNotFound:
		notFound(w, r)
	default:
		envelope.New(httpStatus, body.ReasonInvalidArgument, "the path is not valid").Write(w, r)
	}
}

// headerIn names the headers that services read; no other goes on to them.
func headerIn(header string) (string, bool) {
	switch header {
	case headerLastEventID:
		return "last-event-id", true
	case headerIdempotencyKey:
		return "idempotency-key", true
	}
	return "", false
}

func nothingOut(string) (string, bool) { return "", false }
