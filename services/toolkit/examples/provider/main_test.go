package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// asProvider makes the test binary be the provider: a process of its own
// without a second build.
const asProvider = "TOOLKIT_EXAMPLE_AS_PROVIDER"

func TestMain(m *testing.M) {
	if os.Getenv(asProvider) != "" {
		os.Args = os.Args[:1]
		main()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func startProvider(t *testing.T) (*exec.Cmd, toolv1.ToolProviderServiceClient) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asProvider+"=1")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	addr, ready := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	if err != nil || !ready {
		t.Fatalf("the provider says %q, %v", line, err)
	}
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return cmd, toolv1.NewToolProviderServiceClient(conn)
}

func TestAStrangersProviderIsCalledOverTCP(t *testing.T) {
	cmd, client := startProvider(t)
	list, err := client.ListTools(t.Context(), &toolv1.ListToolsRequest{})
	if err != nil || len(list.GetTools()) != 1 || list.GetTools()[0].GetName() != "word_count" {
		t.Fatalf("got %v, %v", list, err)
	}
	got, err := toolkit.Invoke(t.Context(), client,
		&toolv1.CallToolRequest{Name: "word_count", ArgumentsJson: `{"text":"to be or not"}`}, toolkit.InvokeOptions{})
	if err != nil || got.ContentJSON != `{"success":true,"words":4}` || got.IsError {
		t.Errorf("got %+v, %v", got, err)
	}

	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the provider ends with %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the provider does not end")
	}
	_, err = toolkit.Invoke(t.Context(), client, &toolv1.CallToolRequest{Name: "word_count"}, toolkit.InvokeOptions{})
	if status.Code(err) != codes.Unavailable {
		t.Errorf("a dead provider answers %v", err)
	}
}
