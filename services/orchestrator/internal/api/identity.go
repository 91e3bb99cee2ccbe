package api

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/identity"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// Identity serves IdentityService.
type Identity struct {
	pb.UnimplementedIdentityServiceServer

	Store *identity.Store
	// Revoked is told the id of each token that is revoked here.
	Revoked func(tokenID string)
}

// Exchange turns an API token into its principal.
func (s *Identity) Exchange(ctx context.Context, req *pb.ExchangeRequest) (*pb.ExchangeResponse, error) {
	p, err := s.Store.Exchange(ctx, req.Token)
	if errors.Is(err, identity.ErrBadToken) {
		return nil, BadToken()
	}
	if err != nil {
		return nil, err
	}
	res := &pb.ExchangeResponse{UserId: p.UserID, TokenId: p.TokenID, Scopes: p.Scopes}
	if !p.ExpiresAt.IsZero() {
		res.ExpiresAt = timestamppb.New(p.ExpiresAt)
	}
	return res, nil
}

// BadToken is what is said of a token that stands for nobody.
func BadToken() error {
	return rpcerr.New(codes.Unauthenticated, "TOKEN_INVALID", "The token is unknown, expired or revoked.")
}

// CreateToken makes a token for the caller.
func (s *Identity) CreateToken(ctx context.Context, req *pb.CreateTokenRequest) (*pb.CreateTokenResponse, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return nil, err
	}
	if err := noKey(ctx, "a token is shown once, so that a repeated request could not be answered with it; leave the key out, and delete the token when its answer was lost"); err != nil {
		return nil, err
	}
	token, t, err := s.Store.Create(ctx, p, req.Name, req.Scopes, time.Duration(req.ExpiresInDays)*24*time.Hour)
	if err != nil {
		return nil, tokenError(err, "")
	}
	return &pb.CreateTokenResponse{Id: t.ID, Token: token, TokenInfo: wireToken(t)}, nil
}

// ListTokens lists the caller's tokens.
func (s *Identity) ListTokens(ctx context.Context, req *pb.ListTokensRequest) (*pb.ListTokensResponse, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkCursor(req.Cursor, schema.TokenPrefix); err != nil {
		return nil, err
	}
	limit := page(req.Limit)
	list, err := s.Store.List(ctx, p.UserID, req.Cursor, limit+1)
	if err != nil {
		return nil, err
	}
	res := &pb.ListTokensResponse{HasMore: len(list) > limit}
	if res.HasMore {
		list = list[:limit]
		res.NextCursor = list[limit-1].ID
	}
	for _, t := range list {
		res.Items = append(res.Items, wireToken(t))
	}
	return res, nil
}

// GetToken returns one token.
func (s *Identity) GetToken(ctx context.Context, req *pb.GetTokenRequest) (*pb.GetTokenResponse, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return nil, err
	}
	t, err := s.Store.Get(ctx, p.UserID, req.TokenId)
	if err != nil {
		return nil, tokenError(err, req.TokenId)
	}
	return &pb.GetTokenResponse{TokenInfo: wireToken(t)}, nil
}

// UpdateToken renames a token.
func (s *Identity) UpdateToken(ctx context.Context, req *pb.UpdateTokenRequest) (*pb.UpdateTokenResponse, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return nil, err
	}
	t, err := s.Store.Rename(ctx, p.UserID, req.TokenId, req.Name)
	if err != nil {
		return nil, tokenError(err, req.TokenId)
	}
	return &pb.UpdateTokenResponse{TokenInfo: wireToken(t)}, nil
}

// DeleteToken revokes a token.
func (s *Identity) DeleteToken(ctx context.Context, req *pb.DeleteTokenRequest) (*pb.DeleteTokenResponse, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.Store.Delete(ctx, p.UserID, req.TokenId); err != nil {
		return nil, tokenError(err, req.TokenId)
	}
	s.Revoked(req.TokenId)
	return &pb.DeleteTokenResponse{}, nil
}
