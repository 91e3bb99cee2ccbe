package strangers

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// The admin port tells what there is, the gRPC port answers, and grpcurl carries
// the contract from one to the other in a file.
func TestGrpcurlLearnsFromTheAdminPortAndCallsTheOther(t *testing.T) {
	s, token := begin(t, "chat", "usage")
	grpcurl := build(t, "grpcurl", "github.com/fullstorydev/grpcurl/cmd/grpcurl")
	must := func(args ...string) string {
		t.Helper()
		stdout, stderr, err := run(t, grpcurl, args...)
		if err != nil {
			t.Fatalf("grpcurl %s: %v\n%s", strings.Join(args, " "), err, stderr)
		}
		return stdout
	}
	listed := must("-plaintext", s.AdminAddr(), "list")
	for _, service := range []string{"nanoclaw.orchestrator.v1.ConversationService", "nanoclaw.search.v1.SearchService", "grpc.health.v1.Health"} {
		if !strings.Contains(listed, service+"\n") {
			t.Errorf("%s is not among:\n%s", service, listed)
		}
	}
	described := must("-plaintext", s.AdminAddr(), "describe", "nanoclaw.orchestrator.v1.AccountService.ListModels")
	if !strings.Contains(described, "rpc ListModels ( .nanoclaw.orchestrator.v1.ListModelsRequest )") {
		t.Errorf("described as:\n%s", described)
	}

	contract := filepath.Join(t.TempDir(), "nanoclaw.protoset")
	must("-plaintext", "-protoset-out", contract, s.AdminAddr(), "describe")
	answer := must("-plaintext", "-protoset", contract, "-H", "authorization: Bearer "+token,
		s.GRPCAddr(), "nanoclaw.orchestrator.v1.AccountService/ListModels")
	var models struct {
		Models []struct {
			ID string `json:"id"`
		} `json:"models"`
	}
	if err := json.Unmarshal([]byte(answer), &models); err != nil || len(models.Models) != 1 || models.Models[0].ID != world.ModelID {
		t.Errorf("answer = %s, %v", answer, err)
	}
	_, stderr, err := run(t, grpcurl, "-plaintext", "-protoset", contract, s.GRPCAddr(), "nanoclaw.orchestrator.v1.AccountService/ListModels")
	if err == nil || !strings.Contains(stderr, "Code: Unauthenticated") {
		t.Errorf("without a token: %v\n%s", err, stderr)
	}
}
