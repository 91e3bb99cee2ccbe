package rpc_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
)

func TestInvalidRequestsNameTheirFields(t *testing.T) {
	for _, tc := range []struct {
		name   string
		req    *orchestratorv1.CreateTokenRequest
		fields []string // path=description
		words  string
	}{
		{"one field", &orchestratorv1.CreateTokenRequest{Name: "x", ExpiresInDays: 5000},
			[]string{"expires_in_days=must be greater than or equal to 0 and less than or equal to 3650"},
			"expires_in_days: must be greater than or equal to 0 and less than or equal to 3650"},
		{"an element of a list", &orchestratorv1.CreateTokenRequest{Name: "x", Scopes: []string{"chat", "root"}},
			[]string{"scopes[1]=must be in list [chat, tools, search, fetch, crawl, code, files, usage, tokens, *]"},
			"scopes[1]: must be in list [chat, tools, search, fetch, crawl, code, files, usage, tokens, *]"},
		{"two fields", &orchestratorv1.CreateTokenRequest{ExpiresInDays: -1},
			[]string{"name=must be at least 1 characters", "expires_in_days=must be greater than or equal to 0 and less than or equal to 3650"},
			"name: must be at least 1 characters; expires_in_days: must be greater"},
		{"more than anybody reads", &orchestratorv1.CreateTokenRequest{Name: "x", Scopes: strings.Split("a b c d e f g h i j", " ")},
			[]string{"scopes[0]", "scopes[1]", "scopes[2]", "scopes[3]", "scopes[4]", "scopes[5]", "scopes[6]", "scopes[7]"},
			"; and 7 more"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			reached := false
			r := start(t, &handlers{unary: func(context.Context) error { reached = true; return nil }}, nil)
			_, err := orchestratorv1.NewIdentityServiceClient(r.inside()).CreateToken(as(t, user), tc.req)
			requireStatus(t, err, codes.InvalidArgument, rpc.ReasonInvalidArgument)
			if reached {
				t.Error("the handler ran")
			}
			if !strings.Contains(status.Convert(err).Message(), tc.words) {
				t.Errorf("message = %q, want %q in it", status.Convert(err).Message(), tc.words)
			}
			var got []string
			for _, d := range status.Convert(err).Details() {
				if bad, ok := d.(*errdetails.BadRequest); ok {
					for _, v := range bad.FieldViolations {
						got = append(got, v.Field+"="+v.Description)
					}
				}
			}
			if len(got) != len(tc.fields) {
				t.Fatalf("violations = %q, want %q", got, tc.fields)
			}
			for i, want := range tc.fields {
				if got[i] != want && !strings.HasPrefix(got[i], want+"=") {
					t.Errorf("violation %d = %q, want %q", i, got[i], want)
				}
			}
		})
	}
}

func TestRequestOfAStreamIsValidated(t *testing.T) {
	r := start(t, &handlers{}, nil)
	stream, err := orchestratorv1.NewRunServiceClient(r.inside()).WatchRun(as(t, user), &orchestratorv1.WatchRunRequest{RunId: "r1", AfterSeq: -1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	requireStatus(t, err, codes.InvalidArgument, rpc.ReasonInvalidArgument)
}

func TestAccessIsCheckedBeforeTheRequest(t *testing.T) {
	r := start(t, &handlers{}, nil)
	_, err := orchestratorv1.NewIdentityServiceClient(r.inside()).Exchange(as(t, user), &orchestratorv1.ExchangeRequest{})
	requireStatus(t, err, codes.PermissionDenied, rpc.ReasonServiceOnly)
}
