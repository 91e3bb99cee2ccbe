package runs

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// beStranger serves tools that misbehave, written without the toolkit, until the
// process is killed.
func beStranger() int {
	lis, err := net.Listen("tcp", os.Getenv(asStranger))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	server := grpc.NewServer(grpc.MaxSendMsgSize(1 << 30))
	toolv1.RegisterToolProviderServiceServer(server, stranger{})
	fmt.Println("ready", lis.Addr())
	fmt.Fprintln(os.Stderr, server.Serve(lis))
	return 1
}

// startStranger starts the stranger as a process of its own, at an address or,
// with port 0, at a free one.
func startStranger(t testing.TB, addr string) *world.Process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asStranger+"="+addr)
	p, err := world.Launch(t, cmd)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// addrOf is the address in a ready line.
func addrOf(p *world.Process) string { return strings.TrimPrefix(p.Ready, "ready ") }

// stranger claims that all its tools are harmless.
type stranger struct {
	toolv1.UnimplementedToolProviderServiceServer
}

type callStream = grpc.ServerStreamingServer[toolv1.CallToolResponse]

var misbehaviour = map[string]func(callStream) error{
	"behave": func(s callStream) error { return end(s, `{"success":true,"words":"well behaved"}`) },
	"hang": func(s callStream) error {
		<-s.Context().Done()
		return s.Context().Err()
	},
	"die": func(s callStream) error {
		if err := content(s, `{"half":`); err != nil {
			return err
		}
		os.Exit(3)
		return nil
	},
	"flood": func(s callStream) error { // 100 MB in pieces
		piece := strings.Repeat("a", 64<<10)
		for range (100 << 20) / len(piece) {
			if err := content(s, piece); err != nil {
				return err
			}
		}
		return end(s, `""`)
	},
	"lump":    func(s callStream) error { return end(s, `"`+strings.Repeat("a", 100<<20)+`"`) },
	"garbage": func(s callStream) error { return end(s, `<html>not what you asked for</html>`) },
	"nothing": func(callStream) error { return nil },
	"scold": func(callStream) error {
		return status.Error(codes.Internal, strings.Repeat("secret of the stranger ", 1000))
	},
	"chatter": func(s callStream) error {
		for i := range 20_000 {
			p := &toolv1.Progress{Message: strings.Repeat("step ", 200), Done: float64(i)}
			if err := s.Send(&toolv1.CallToolResponse{Event: &toolv1.CallToolResponse_Progress{Progress: p}}); err != nil {
				return err
			}
		}
		return end(s, `{"success":true}`)
	},
}

func content(s callStream, data string) error {
	return s.Send(&toolv1.CallToolResponse{Event: &toolv1.CallToolResponse_Content{Content: &toolv1.Content{Data: data}}})
}

func end(s callStream, contentJSON string) error {
	return s.Send(&toolv1.CallToolResponse{Event: &toolv1.CallToolResponse_Result{Result: &toolv1.Result{ContentJson: contentJSON}}})
}

func (stranger) ListTools(context.Context, *toolv1.ListToolsRequest) (*toolv1.ListToolsResponse, error) {
	parameters, err := structpb.NewStruct(map[string]any{"type": "object", "properties": map[string]any{}})
	if err != nil {
		return nil, err
	}
	res := &toolv1.ListToolsResponse{}
	for name := range misbehaviour {
		res.Tools = append(res.Tools, &toolv1.Tool{
			Name: name, Description: "A tool that says: " + name, Parameters: parameters, Effect: "pure", Sink: "read", Version: "1",
		})
	}
	return res, nil
}

func (stranger) CallTool(req *toolv1.CallToolRequest, s callStream) error {
	run, ok := misbehaviour[req.Name]
	if !ok {
		return status.Error(codes.NotFound, "no such tool")
	}
	if err := s.Send(&toolv1.CallToolResponse{Event: &toolv1.CallToolResponse_Progress{Progress: &toolv1.Progress{}}}); err != nil {
		return err
	}
	return run(s)
}

func (stranger) GetCall(context.Context, *toolv1.GetCallRequest) (*toolv1.GetCallResponse, error) {
	return &toolv1.GetCallResponse{State: "unknown"}, nil
}

func (stranger) CancelCall(context.Context, *toolv1.CancelCallRequest) (*toolv1.CancelCallResponse, error) {
	return &toolv1.CancelCallResponse{}, nil
}

// hangTime is the time-out of the tool that hangs.
const hangTime = 700 * time.Millisecond
