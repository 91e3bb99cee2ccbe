package envelope

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// Detail says what is wrong with one field of the request.
type Detail struct {
	// Field as the caller wrote it, for example "filter.status".
	Field string `json:"field"`
	// Description of what is wrong with it.
	Description string `json:"description"`
}

// Problem is a failure as an HTTP caller sees it.
type Problem struct {
	// Status is the HTTP status, 400 to 599.
	Status int
	// Reason is stable and upper snake case; callers may switch on it.
	Reason string
	// Message says to a person what happened and what to do.
	Message string
	// Details name the fields that were wrong.
	Details []Detail
	// Meta are facts for the caller's program; they stand beside the message.
	Meta map[string]string
	// RetryAfter is the time after which the same request may succeed; written
	// as the Retry-After header when HasRetry is set.
	RetryAfter time.Duration
	HasRetry   bool
}

// New makes a problem without details.
func New(status int, reason, format string, args ...any) Problem {
	return Problem{Status: status, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// WithField answers a copy that also names a field.
func (p Problem) WithField(field, description string) Problem {
	p.Details = append(p.Details[:len(p.Details):len(p.Details)], Detail{field, description})
	return p
}

// Retryable says whether the same request may succeed later without a change.
func (p Problem) Retryable() bool {
	switch p.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return p.HasRetry
}

// Write sends the problem as the answer to r. Nothing may have been written
// before.
func (p Problem) Write(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	// What a handler had begun to say of a successful answer is void.
	for _, name := range []string{"Trailer", "Transfer-Encoding", "Content-Length", "Etag", "Last-Modified"} {
		h.Del(name)
	}
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if p.HasRetry {
		h.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(p.RetryAfter.Seconds())))))
	}
	w.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(p.JSON(TraceID(r)))
	}
}

// JSON is the body of the problem.
func (p Problem) JSON(traceID string) []byte {
	body := make(map[string]any, 5+len(p.Meta))
	for k, v := range p.Meta {
		body[k] = v
	}
	details := p.Details
	if details == nil {
		details = []Detail{}
	}
	// Set last: a fact can never take the place of one of these.
	body["code"] = p.Status
	body["message"] = p.Message
	body["reason"] = p.Reason
	body["trace_id"] = traceID
	body["details"] = details
	return compact(body)
}

// TraceID of the request's span; empty when tracing is not set up.
func TraceID(r *http.Request) string {
	if sc := trace.SpanContextFromContext(r.Context()); sc.HasTraceID() {
		return sc.TraceID().String()
	}
	return ""
}

// WriteData sends {"code":0,"data":data} with a status, for the gateway's own
// answers. data must be plain Go values.
func WriteData(w http.ResponseWriter, r *http.Request, status int, data any) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(compact(Success(data)))
	}
}

// Success is the shape of a good answer. It is a map because the runtime's
// JSONPb marshals the values of a map one by one with protojson, while a struct
// would go to encoding/json, which knows no oneof, Struct or Timestamp.
func Success(data any) map[string]any {
	return map[string]any{"code": 0, "data": data}
}

// compact marshals without escaping <, > and &; the values are strings, numbers
// and slices of them, which cannot fail.
func compact(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte(`{"code":500,"message":"the answer could not be written","reason":"INTERNAL","trace_id":"","details":[]}`)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
