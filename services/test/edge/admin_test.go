package edge

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

func adminOf(addr string, c *world.Client) *world.Client {
	return &world.Client{Base: "http://" + addr, HTTP: c.HTTP}
}

func TestMetricsCountWhatWasCalled(t *testing.T) {
	h := newHouse(t)
	conn := dial(t, h.suite.GRPCAddr())
	for _, m := range methods(t) {
		if m.desc.Name() == "GetRun" {
			req := m.request(t, m.fill(t, h, func(string) *person { return &h.owner }))
			_, err := m.call(as(deadline(t), h.guest.Token), t, conn, req)
			requireStatus(t, err, codes.NotFound, "NOT_FOUND")
		}
	}
	got := route{method: "GET", path: "/metrics"}.ask(t, adminOf(h.suite.AdminAddr(), h.owner.Client), nil)
	if got.StatusCode != http.StatusOK {
		t.Fatalf("answer = %d %s", got.StatusCode, got.text)
	}
	for what, line := range map[string]string{
		"how long calls took":   `(?m)^rpc_server_call_duration_seconds_count\{.*rpc_method="nanoclaw.orchestrator.v1.RunService/GetRun".*\} [1-9]`,
		"which calls failed":    `(?m)^nanoclaw_rpc_server_failures_total\{.*code="NotFound".*reason="NOT_FOUND".*rpc_method="nanoclaw.orchestrator.v1.RunService/GetRun".*\} [1-9]`,
		"calls in flight":       `(?m)^nanoclaw_rpc_server_active\{.*rpc_method="nanoclaw.orchestrator.v1.RunService/GetRun".*\} 0$`,
		"questions to engines":  `(?m)^nanoclaw_search_attempts_total\{.*search_outcome="OK".*search_provider="bing".*\} [1-9]`,
		"how HTTP was answered": `(?m)^http_server_request_duration_seconds_count\{.*http_route="/api/conversations".*\} [1-9]`,
		"the Go runtime":        `(?m)^go_goroutines [1-9]`,
	} {
		if !regexp.MustCompile(line).MatchString(got.text) {
			t.Errorf("metrics do not tell %s: no line %s", what, line)
		}
	}
	for _, id := range append(h.owner.all(), h.owner.secret, h.owner.Token) {
		if strings.Contains(got.text, id) {
			t.Errorf("metrics hold %s", id)
		}
	}
}

func TestMetricsAloneMayBeReadFromElsewhere(t *testing.T) {
	w := world.New(t, answering)
	w.Config.Admin.MetricsAddr = "127.0.0.1:0"
	s := w.Start(t)
	c := world.ClientOf(s)
	t.Cleanup(c.HTTP.CloseIdleConnections)
	admin := adminOf(s.MetricsAddr(), c)
	asNamed := func(req *http.Request) { req.Host = "nanoclaw.example" }
	if got := (route{method: "GET", path: "/metrics"}).ask(t, admin, asNamed); got.StatusCode != http.StatusOK || !strings.Contains(got.text, "go_goroutines") {
		t.Errorf("metrics: %d %s", got.StatusCode, got.text)
	}
	for _, path := range []string{"/", "/debug/pprof/", "/debug/pprof/heap"} {
		if got := (route{method: "GET", path: path}).ask(t, admin, nil); got.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.StatusCode)
		}
	}
}

func TestProfilesAreOnTheAdminPort(t *testing.T) {
	_, s, c := startWorld(t)
	admin := adminOf(s.AdminAddr(), c)
	for path, want := range map[string]string{
		"/debug/pprof/":                  "goroutine",
		"/debug/pprof/goroutine?debug=1": "goroutine profile",
		"/debug/pprof/heap?debug=1":      "heap profile",
		"/debug/pprof/cmdline":           "edge",
	} {
		if got := (route{method: "GET", path: path}).ask(t, admin, nil); got.StatusCode != http.StatusOK || !strings.Contains(got.text, want) {
			t.Errorf("%s: %d, without %q", path, got.StatusCode, want)
		}
	}
	// The port has no tokens: a page that was bound anew to this machine must
	// not read a heap.
	for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/pprof/heap"} {
		for _, host := range foreignHosts {
			got := route{method: "GET", path: path}.ask(t, admin, func(req *http.Request) { req.Host = host })
			if got.StatusCode != http.StatusMisdirectedRequest {
				t.Errorf("%s asked for as %s: %d", path, host, got.StatusCode)
			}
		}
	}
	// And none of it is on the port that people use.
	for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/pprof/heap"} {
		if got := (route{method: "GET", path: path}).ask(t, c, nil); strings.Contains(got.text, "go_goroutines") || strings.Contains(got.text, "profile") {
			t.Errorf("%s is served on the HTTP port", path)
		}
	}
}

func TestReflectionTellsTheServicesOnTheAdminPortOnly(t *testing.T) {
	_, s, c := startWorld(t)
	ask := func(addr string, req *reflectionv1.ServerReflectionRequest) (*reflectionv1.ServerReflectionResponse, error) {
		stream, err := reflectionv1.NewServerReflectionClient(dial(t, addr)).ServerReflectionInfo(as(deadline(t), c.Token))
		if err != nil {
			return nil, err
		}
		if err := stream.Send(req); err != nil && !errors.Is(err, io.EOF) { // EOF: Recv says why
			return nil, err
		}
		if err := stream.CloseSend(); err != nil {
			return nil, err
		}
		return stream.Recv()
	}
	list := &reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}}
	got, err := ask(s.AdminAddr(), list)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range got.GetListServicesResponse().GetService() {
		names = append(names, one.GetName())
	}
	for _, want := range services() {
		name := string(want.FullName())
		if slices.Contains(names, name) == (name == toolProvider) {
			t.Errorf("%s: listed %t; every contract but that of tool providers is served", name, name == toolProvider)
		}
	}
	// A client can learn the contract from it.
	file, err := ask(s.AdminAddr(), &reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{
		FileContainingSymbol: "nanoclaw.orchestrator.v1.RunService",
	}})
	if err != nil {
		t.Fatal(err)
	}
	var described []string
	for _, raw := range file.GetFileDescriptorResponse().GetFileDescriptorProto() {
		var d descriptorpb.FileDescriptorProto
		if err := proto.Unmarshal(raw, &d); err != nil {
			t.Fatal(err)
		}
		described = append(described, d.GetName())
	}
	if !slices.Contains(described, "nanoclaw/orchestrator/v1/run.proto") {
		t.Errorf("the service is described by %v", described)
	}
	if _, err := ask(s.GRPCAddr(), list); status.Code(err) != codes.Unimplemented {
		t.Errorf("the gRPC port tells its services: %v", err)
	}
	// No service answers on the admin port.
	if _, err := healthv1.NewHealthClient(dial(t, s.AdminAddr())).Check(deadline(t), &healthv1.HealthCheckRequest{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("the admin port serves health: %v", err)
	}
	for _, m := range methods(t) {
		err := dial(t, s.AdminAddr()).Invoke(as(deadline(t), c.Token), m.full, newMessage(t, m.desc.Input()), newMessage(t, m.desc.Output()))
		if status.Code(err) != codes.Unimplemented {
			t.Errorf("%s on the admin port: %v", m.full, err)
			break
		}
	}
}

func TestEveryServiceIsHealthy(t *testing.T) {
	_, s, _ := startWorld(t)
	client := healthv1.NewHealthClient(dial(t, s.GRPCAddr()))
	names := []string{""}
	for _, one := range services() {
		if name := string(one.FullName()); name != toolProvider {
			names = append(names, name)
		}
	}
	for _, name := range names {
		got, err := client.Check(deadline(t), &healthv1.HealthCheckRequest{Service: name}) // no token
		if err != nil || got.GetStatus() != healthv1.HealthCheckResponse_SERVING {
			t.Error(fmt.Errorf("service %q: %v, %w", name, got.GetStatus(), err))
		}
	}
}
