package orchestrator

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
)

func decode(t *testing.T, content string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(content), into); err != nil {
		t.Fatalf("%v in %.200s", err, content)
	}
}

func TestTokensAreMadeUsedAndRevoked(t *testing.T) {
	w := newWorld(t, "")
	made, err := w.Identity.CreateToken(w.as("ann"), &pb.CreateTokenRequest{Name: "bot", Scopes: []string{"chat", "tools"}, ExpiresInDays: 2})
	if err != nil || !strings.HasPrefix(made.Token, made.TokenInfo.Prefix) || made.TokenInfo.Name != "bot" || made.TokenInfo.ExpiresAt == nil {
		t.Fatalf("%v, %v", made, err)
	}
	exchange := func() (*pb.ExchangeResponse, error) {
		ctx := auth.NewContext(t.Context(), auth.ServicePrincipal("gateway"))
		return w.Identity.Exchange(ctx, &pb.ExchangeRequest{Token: made.Token})
	}
	p, err := exchange()
	if err != nil || p.UserId != "ann" || p.TokenId != made.Id || !slices.Equal(p.Scopes, []string{"chat", "tools"}) {
		t.Errorf("%v, %v", p, err)
	}
	_, err = w.Identity.Exchange(w.as("ann"), &pb.ExchangeRequest{Token: made.Token})
	refused(t, err, codes.PermissionDenied, "SERVICE_ONLY")
	w.now.Store((49 * time.Hour).Milliseconds())
	_, err = exchange()
	refused(t, err, codes.Unauthenticated, "TOKEN_INVALID")
	w.now.Store(0)
	renamed, err := w.Identity.UpdateToken(w.as("ann"), &pb.UpdateTokenRequest{TokenId: made.Id, Name: "robot"})
	if err != nil || renamed.TokenInfo.Name != "robot" {
		t.Errorf("%v, %v", renamed, err)
	}
	got, err := w.Identity.GetToken(w.as("ann"), &pb.GetTokenRequest{TokenId: made.Id})
	if err != nil || !proto.Equal(got.TokenInfo, renamed.TokenInfo) || got.TokenInfo.LastUsedAt == nil {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := w.Identity.DeleteToken(w.as("ann"), &pb.DeleteTokenRequest{TokenId: made.Id}); err != nil {
		t.Fatal(err)
	}
	_, err = exchange()
	refused(t, err, codes.Unauthenticated, "TOKEN_INVALID")
	_, err = w.Identity.DeleteToken(w.as("ann"), &pb.DeleteTokenRequest{TokenId: made.Id})
	refused(t, err, codes.NotFound, "NOT_FOUND")
}

func TestTokensThatCannotBeMade(t *testing.T) {
	w := newWorld(t, "")
	few := auth.NewContext(t.Context(), auth.UserPrincipal("ann", "tokens", "chat"))
	_, err := w.Identity.CreateToken(few, &pb.CreateTokenRequest{Name: "t", Scopes: []string{"tools"}})
	refused(t, err, codes.PermissionDenied, "SCOPE_MISSING")
	if meta(err, "scope") != "tools" {
		t.Errorf("scope %q", meta(err, "scope"))
	}
	for name, req := range map[string]*pb.CreateTokenRequest{
		"no name": {}, "an endless name": {Name: strings.Repeat("n", 101)}, "an unknown scope": {Name: "t", Scopes: []string{"root"}},
		"an end in the past": {Name: "t", ExpiresInDays: -1},
	} {
		if _, err := w.Identity.CreateToken(w.as("ann"), req); err == nil {
			t.Errorf("%s was taken", name)
		} else {
			refused(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
		}
	}
	_, err = w.Identity.CreateToken(auth.NewContext(t.Context(), auth.UserPrincipal("ann", "tokens")), &pb.CreateTokenRequest{Name: "t"})
	refused(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
	if field(err) != "scopes" {
		t.Errorf("field %q", field(err))
	}
	_, err = w.Identity.CreateToken(w.as("ann", "idempotency-key", "k"), &pb.CreateTokenRequest{Name: "t"})
	refused(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
	if field(err) != "Idempotency-Key" {
		t.Errorf("field %q", field(err))
	}
	_, err = w.Identity.ListTokens(w.as("ann"), &pb.ListTokensRequest{Cursor: "conv_01jz0000000000000000000000"})
	refused(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
}

func TestATokenThatIsRevokedIsForgottenAndMakesNoOther(t *testing.T) {
	w := newWorld(t, "")
	made, err := w.Identity.CreateToken(w.as("ann"), &pb.CreateTokenRequest{Name: "bot", Scopes: []string{"chat", "tokens"}, ExpiresInDays: 2})
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.svc.Tokens().Principal(t.Context(), made.Token)
	if err != nil || !p.ExpiresAt.Equal(made.TokenInfo.ExpiresAt.AsTime()) {
		t.Fatalf("%+v, %v; the token ends at %s", p, err, made.TokenInfo.ExpiresAt.AsTime())
	}
	own := auth.NewContext(t.Context(), p)
	child, err := w.Identity.CreateToken(own, &pb.CreateTokenRequest{Name: "child"})
	if err != nil || !proto.Equal(child.TokenInfo.ExpiresAt, made.TokenInfo.ExpiresAt) {
		t.Errorf("%v, %v", child, err)
	}
	_, err = w.Identity.CreateToken(own, &pb.CreateTokenRequest{Name: "heir", ExpiresInDays: 3})
	refused(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
	if field(err) != "expires_in_days" {
		t.Errorf("field %q", field(err))
	}
	if _, err := w.Identity.DeleteToken(own, &pb.DeleteTokenRequest{TokenId: made.Id}); err != nil {
		t.Fatal(err)
	}
	_, err = w.svc.Tokens().Principal(t.Context(), made.Token)
	refused(t, err, codes.Unauthenticated, "UNAUTHENTICATED")
	_, err = w.Identity.CreateToken(own, &pb.CreateTokenRequest{Name: "heir"}) // as a replica would that remembers it
	refused(t, err, codes.Unauthenticated, "TOKEN_INVALID")
}

func TestTokensAreListedInPages(t *testing.T) {
	w := newWorld(t, "")
	for i := range 3 {
		if _, err := w.Identity.CreateToken(w.as("ann"), &pb.CreateTokenRequest{Name: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	var names, cursor string
	for {
		res, err := w.Identity.ListTokens(w.as("ann"), &pb.ListTokensRequest{Limit: proto.Int32(2), Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, token := range res.Items {
			names += token.Name
		}
		if cursor = res.NextCursor; res.HasMore != (cursor != "") {
			t.Errorf("has_more %t, next_cursor %q", res.HasMore, cursor)
		}
		if cursor == "" {
			break
		}
	}
	if names != "210" {
		t.Errorf("listed %s", names)
	}
}

func TestWhatWasUsedIsSummed(t *testing.T) {
	w := newWorld(t, story)
	id := w.conversation()
	w.send(id, "count tea") // two model calls, one tool call
	w.send(id, "hello")
	if _, err := w.Tools.InvokeTool(w.as("ann"), &pb.InvokeToolRequest{Name: "count", ArgumentsJson: `{"text":"tea"}`}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Conversations.DeleteConversation(w.as("ann"), &pb.DeleteConversationRequest{ConversationId: id}); err != nil {
		t.Fatal(err)
	}
	res, err := w.Account.GetUsage(w.as("ann"), &pb.GetUsageRequest{})
	if err != nil {
		t.Fatal(err)
	}
	want := &pb.UsageRow{InputTokens: 35, OutputTokens: 6, ModelCalls: 3, ToolCalls: 2}
	if !proto.Equal(res.Total, want) {
		t.Errorf("total %v, want %v", res.Total, want)
	}
	var sum pb.UsageRow
	for _, r := range res.Rows {
		sum.InputTokens, sum.ModelCalls, sum.ToolCalls = sum.InputTokens+r.InputTokens, sum.ModelCalls+r.ModelCalls, sum.ToolCalls+r.ToolCalls
		if (r.Model == "m") != (r.ModelCalls > 0) || r.Date == "" {
			t.Errorf("row %v", r)
		}
	}
	if sum.InputTokens != 35 || sum.ModelCalls != 3 || sum.ToolCalls != 2 {
		t.Errorf("rows %v", res.Rows)
	}
	if other, err := w.Account.GetUsage(w.as("bob"), &pb.GetUsageRequest{}); err != nil || len(other.Rows) != 0 || !proto.Equal(other.Total, &pb.UsageRow{}) {
		t.Errorf("another user: %v, %v", other, err)
	}
	w.now.Store((3 * 24 * time.Hour).Milliseconds())
	for days, want := range map[int32]int32{1: 0, 3: 0, 4: 3} {
		if got, err := w.Account.GetUsage(w.as("ann"), &pb.GetUsageRequest{Days: &days}); err != nil || got.Total.ModelCalls != want {
			t.Errorf("%d days: %v, %v", days, got, err)
		}
	}
	for _, bad := range []int32{0, 367} {
		_, err := w.Account.GetUsage(w.as("ann"), &pb.GetUsageRequest{Days: &bad})
		refused(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
	}
}

func TestModelsAreListed(t *testing.T) {
	w := newWorld(t, story)
	res, err := w.Account.ListModels(w.as("ann"), &pb.ListModelsRequest{})
	if err != nil || len(res.Models) != 1 || res.DefaultModel != "m" || res.Models[0].Name != "Em" || !res.Models[0].IsDefault || res.Models[0].ContextWindow != 128_000 {
		t.Errorf("%v, %v", res, err)
	}
	none, err := newWorld(t, "").Account.ListModels(w.as("ann"), &pb.ListModelsRequest{})
	if err != nil || len(none.Models) != 0 || none.DefaultModel != "" {
		t.Errorf("%v, %v", none, err)
	}
}

func TestToolsAreInvokedWithoutAModel(t *testing.T) {
	w := newWorld(t, "", func(b *bed) { b.cfg.Tools.Enabled = []string{"count", "write"} })
	args, err := structpb.NewStruct(map[string]any{"text": "tea", "top": 2})
	if err != nil {
		t.Fatal(err)
	}
	res, err := w.Tools.InvokeTool(w.as("ann"), &pb.InvokeToolRequest{Name: "count", Arguments: args})
	if err != nil || res.Result.IsError || res.Result.Name != "count" || res.Result.ResultId == "" {
		t.Fatalf("%v, %v", res, err)
	}
	var got struct {
		Text string
		Top  int
	}
	if decode(t, res.Result.Content, &got); got.Text != "tea" || got.Top != 2 {
		t.Errorf("%+v", got)
	}
	_, err = w.Tools.InvokeTool(w.as("ann"), &pb.InvokeToolRequest{Name: "count"})
	refused(t, err, codes.InvalidArgument, "BAD_ARGUMENTS")
	if field(err) != "arguments.text" {
		t.Errorf("field %q", field(err))
	}
	_, err = w.Tools.InvokeTool(w.as("ann"), &pb.InvokeToolRequest{Name: "cuont", Arguments: args})
	refused(t, err, codes.NotFound, "UNKNOWN_TOOL")
	_, err = w.Tools.InvokeTool(w.as("ann"), &pb.InvokeToolRequest{Name: "long", Arguments: args})
	refused(t, err, codes.FailedPrecondition, "TOOL_DISABLED")
	_, err = w.Tools.InvokeTool(w.as("ann"), &pb.InvokeToolRequest{Name: "count", Arguments: args, ArgumentsJson: "{}"})
	refused(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")

	write := &pb.InvokeToolRequest{Name: "write", Arguments: args}
	_, err = w.Tools.InvokeTool(w.as("ann"), write)
	refused(t, err, codes.Aborted, "APPROVAL_REQUIRED")
	write.ConfirmArgsSha256 = meta(err, "args_sha256")
	_, err = w.Tools.InvokeTool(w.as("ann"), write)
	refused(t, err, codes.InvalidArgument, "IDEMPOTENCY_KEY_REQUIRED")
	first, err := w.Tools.InvokeTool(w.as("ann", "idempotency-key", "k"), write)
	if err != nil || first.Result.IsError {
		t.Fatalf("%v, %v", first, err)
	}
	again, err := w.Tools.InvokeTool(w.as("ann", "idempotency-key", "k"), write)
	if err != nil || !proto.Equal(again, first) {
		t.Errorf("%v, %v", again, err)
	}
	write.Arguments, write.ArgumentsJson = nil, `{"text":"milk"}`
	_, err = w.Tools.InvokeTool(w.as("ann", "idempotency-key", "k"), write)
	refused(t, err, codes.Aborted, "APPROVAL_REQUIRED")
	write.ConfirmArgsSha256 = meta(err, "args_sha256")
	_, err = w.Tools.InvokeTool(w.as("ann", "idempotency-key", "k"), write)
	refused(t, err, codes.Aborted, "KEY_REUSED")
	if n := w.calls.Load(); n != 1 {
		t.Errorf("%d writes", n)
	}
}

func TestNobodyGetsInWithoutBeingAUser(t *testing.T) {
	w := newWorld(t, "")
	service := auth.NewContext(t.Context(), auth.ServicePrincipal("search"))
	_, err := w.Conversations.ListConversations(service, &pb.ListConversationsRequest{})
	refused(t, err, codes.PermissionDenied, "USER_REQUIRED")
	_, err = w.Tools.InvokeTool(service, &pb.InvokeToolRequest{Name: "count", ArgumentsJson: `{"text":"x"}`})
	refused(t, err, codes.PermissionDenied, "USER_REQUIRED")
	_, err = w.Conversations.ListConversations(t.Context(), &pb.ListConversationsRequest{})
	refused(t, err, codes.Unauthenticated, "UNAUTHENTICATED")
	_, err = w.Conversations.ListConversations(auth.NewContext(t.Context(), auth.UserPrincipal("ann", "tools")), &pb.ListConversationsRequest{})
	refused(t, err, codes.PermissionDenied, "SCOPE_MISSING")
}
