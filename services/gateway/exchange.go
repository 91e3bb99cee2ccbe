package gateway

import (
	"context"

	"google.golang.org/grpc"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
)

// exchangeOver asks the IdentityService at conn whom a token stands for. Only a
// service may ask that.
func exchangeOver(conn grpc.ClientConnInterface) func(context.Context, string) (auth.Principal, error) {
	identity := orchestratorv1.NewIdentityServiceClient(conn)
	return func(ctx context.Context, token string) (auth.Principal, error) {
		ctx = auth.NewContext(ctx, auth.ServicePrincipal("gateway"))
		res, err := identity.Exchange(ctx, &orchestratorv1.ExchangeRequest{Token: token})
		if err != nil {
			return auth.Principal{}, err
		}
		p := auth.UserPrincipal(res.GetUserId(), res.GetScopes()...)
		p.TokenID = res.GetTokenId()
		return p, nil
	}
}
