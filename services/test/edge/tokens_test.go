package edge

import (
	"net/http"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

func TestARevokedTokenIsRefusedAtEveryDoorAtOnceAndLeavesNoHeir(t *testing.T) {
	_, s, owner := startWorld(t)
	conversations := orchestratorv1.NewConversationServiceClient(dial(t, s.GRPCAddr()))
	list := func(token string) codes.Code {
		_, err := conversations.ListConversations(as(deadline(t), token), &orchestratorv1.ListConversationsRequest{})
		return status.Code(err)
	}
	made := owner.Data(t, "POST", "/api/tokens", map[string]any{"name": "guest", "scopes": []string{"chat", "tokens"}, "expires_in_days": 1})
	guest := &world.Client{HTTP: owner.HTTP, Base: owner.Base, Token: made["token"].(string)}

	// Both doors have it in mind now.
	if code, _ := guest.JSON(t, "GET", "/api/conversations", nil); code != http.StatusOK {
		t.Fatalf("over REST: %d", code)
	}
	if code := list(guest.Token); code != codes.OK {
		t.Fatalf("over gRPC: %s", code)
	}
	child := guest.Data(t, "POST", "/api/tokens", map[string]any{"name": "child"})
	if end := child["token_info"].(map[string]any)["expires_at"]; end != made["token_info"].(map[string]any)["expires_at"] {
		t.Errorf("the child ends at %v", end)
	}
	if code, answer := guest.JSON(t, "POST", "/api/tokens", map[string]any{"name": "heir", "expires_in_days": 2}); code != http.StatusBadRequest {
		t.Errorf("a longer life: %d %v", code, answer)
	}
	if code, answer := guest.JSON(t, "DELETE", "/api/tokens/"+made["id"].(string), nil); code != http.StatusOK {
		t.Fatalf("%d %v", code, answer)
	}
	if code, answer := guest.JSON(t, "POST", "/api/tokens", map[string]any{"name": "heir"}); code != http.StatusUnauthorized {
		t.Errorf("an heir: %d %v", code, answer)
	}
	if code := list(guest.Token); code != codes.Unauthenticated {
		t.Errorf("over gRPC afterwards: %s", code)
	}
}
