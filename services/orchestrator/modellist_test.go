package orchestrator

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
)

func TestAListOfModelsSaysHowEachIsAskedAndNothingOfItsKey(t *testing.T) {
	got, err := ListModels(Config{DefaultModel: "local", Models: []ModelConfig{
		{ID: "glm-5", Name: "GLM", APIURL: "https://open.bigmodel.cn/api/paas/v4", APIKey: "sk-1234567890", Fallback: []string{"local"}},
		{ID: "local", Model: "qwen3", APIURL: "http://127.0.0.1:8000/v1", ContextWindow: 32_000, Profile: "hermes", ToolMode: "prompted"},
		{ID: "own", APIURL: "https://models.example/v1", Headers: map[string]string{"X-Api-Key": "sk-1234567890"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := &pb.ListModelsResponse{DefaultModel: "local", Models: []*pb.Model{
		{Id: "glm-5", Name: "GLM", ContextWindow: 128_000, Model: "glm-5", Endpoint: "open.bigmodel.cn", Profile: "glm", ProfileFrom: "endpoint", ToolMode: "native", Fallback: []string{"local"}, HasKey: true},
		{Id: "local", Name: "local", ContextWindow: 32_000, IsDefault: true, Model: "qwen3", Endpoint: "127.0.0.1:8000", Profile: "hermes", ProfileFrom: "config", ToolMode: "prompted"},
		{Id: "own", Name: "own", ContextWindow: 128_000, Model: "own", Endpoint: "models.example", Profile: "plain", ProfileFrom: "default", ToolMode: "native", HasKey: true},
	}}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
