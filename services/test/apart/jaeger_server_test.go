//go:build jaeger

package apart

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/addrtest"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// jaegerBinary names the program to run, as make jaeger-e2e builds it.
const jaegerBinary = "JAEGER_BINARY"

// jaegerConfig is everything in one process, in memory, with its own metrics
// off; the addresses are those of OTLP and of the API over HTTP and gRPC.
const jaegerConfig = `
service:
  extensions: [jaeger_storage, jaeger_query]
  pipelines:
    traces: {receivers: [otlp], exporters: [jaeger_storage_exporter]}
  telemetry: {metrics: {level: none}, logs: {level: warn}}
extensions:
  jaeger_storage: {backends: {memory: {memory: {max_traces: 1000}}}}
  jaeger_query: {storage: {traces: memory}, http: {endpoint: %[2]q}, grpc: {endpoint: %[3]q}}
receivers:
  otlp: {protocols: {grpc: {endpoint: %[1]q}}}
exporters:
  jaeger_storage_exporter: {trace_storage: memory}
`

// jaeger is a running Jaeger.
type jaeger struct{ otlp, api string } // addresses

// startJaeger runs Jaeger on free ports until the test ends.
func startJaeger(t *testing.T) jaeger {
	t.Helper()
	binary := os.Getenv(jaegerBinary)
	if binary == "" {
		t.Fatalf("%s is not set: run make jaeger-e2e", jaegerBinary)
	}
	j := jaeger{otlp: addrtest.Reserve(t), api: addrtest.Reserve(t)}
	config := filepath.Join(t.TempDir(), "jaeger.yml")
	if err := os.WriteFile(config, fmt.Appendf(nil, jaegerConfig, j.otlp, j.api, addrtest.Reserve(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer // read only after the process has ended
	cmd := exec.Command(binary, "--config", config)
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.Env = append(os.Environ(), "OTEL_TRACES_SAMPLER=always_off") // Jaeger's own
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("Jaeger said:\n%s", log.Bytes())
		}
	})
	until(t, "Jaeger answers", func() bool {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("Jaeger ended: %v", err)
		default:
		}
		status, _, err := j.get(deadline(t), "/api/v3/services")
		return err == nil && status == http.StatusOK
	})
	return j
}

func (j jaeger) get(ctx context.Context, path string) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+j.api+path, nil)
	if err != nil {
		return 0, nil, err
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	return res.StatusCode, body, err
}

// trace asks Jaeger for a trace until it has as many spans as are wanted, or has
// had the time for it, and returns what it has.
func (j jaeger) trace(t *testing.T, id string, spans int) *collectorv1.ExportTraceServiceRequest {
	t.Helper()
	for late := time.Now().Add(within); ; time.Sleep(100 * time.Millisecond) {
		status, body, err := j.get(deadline(t), "/api/v3/traces/"+id)
		if err != nil {
			t.Fatal(err)
		}
		var trace *collectorv1.ExportTraceServiceRequest
		if status == http.StatusOK {
			if trace, err = readTrace(body); err != nil {
				t.Fatalf("trace %s: %v: %s", id, err, body)
			}
			if countSpans(trace) >= spans {
				return trace
			}
		}
		if time.Now().After(late) {
			if trace == nil {
				t.Fatalf("Jaeger has no trace %s: %d %s", id, status, body)
			}
			return trace
		}
	}
}

func countSpans(trace *collectorv1.ExportTraceServiceRequest) (n int) {
	for _, resource := range trace.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			n += len(scope.GetSpans())
		}
	}
	return n
}

// readTrace reads an answer of /api/v3/traces: what OTLP exports, as JSON, in
// which ids are in hex where the JSON of protocol buffers has base64 (OTLP 1.11,
// "JSON Protobuf Encoding").
func readTrace(body []byte) (*collectorv1.ExportTraceServiceRequest, error) {
	var answer struct{ Result json.RawMessage }
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(answer.Result))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	if err := idsToBase64(tree); err != nil {
		return nil, err
	}
	text, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	trace := new(collectorv1.ExportTraceServiceRequest)
	return trace, protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(text, trace)
}

func idsToBase64(tree any) error {
	switch x := tree.(type) {
	case []any:
		for _, item := range x {
			if err := idsToBase64(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, value := range x {
			text, isText := value.(string)
			if isText && (key == "traceId" || key == "spanId" || key == "parentSpanId") {
				id, err := hex.DecodeString(text)
				if err != nil {
					return fmt.Errorf("%s %q is not hex", key, text)
				}
				x[key] = base64.StdEncoding.EncodeToString(id)
				continue
			}
			if err := idsToBase64(value); err != nil {
				return err
			}
		}
	}
	return nil
}

// askForTrace asks over SSE and returns the trace id of the answer's header
// beside what was answered.
func askForTrace(t *testing.T, c *world.Client) (traceID string, run *world.Transcript) {
	t.Helper()
	res, err := c.Do(deadline(t), "POST", "/api/conversations/"+c.Conversation(t)+"/messages", map[string]any{"content": "Please look up nanoclaws"})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("answered %s", res.Status)
	}
	run = new(world.Transcript)
	world.Events(res.Body, func(e world.Event) bool {
		run.Take(e)
		return true // to the end: a stream that is closed before has a span that was cancelled
	})
	return res.Header.Get("X-Trace-Id"), run
}
