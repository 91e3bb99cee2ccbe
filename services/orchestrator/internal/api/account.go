package api

import (
	"context"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/usage"
)

// defaultDays is how far usage goes back when nobody says.
const defaultDays = 30

// Account serves AccountService.
type Account struct {
	pb.UnimplementedAccountServiceServer

	Models []*pb.Model
	// DefaultModel is empty when no model is configured.
	DefaultModel string
	Usage        *usage.Store
}

// ListModels lists the configured models.
func (s *Account) ListModels(context.Context, *pb.ListModelsRequest) (*pb.ListModelsResponse, error) {
	return &pb.ListModelsResponse{Models: s.Models, DefaultModel: s.DefaultModel}, nil
}

// GetUsage sums the caller's tokens.
func (s *Account) GetUsage(ctx context.Context, req *pb.GetUsageRequest) (*pb.GetUsageResponse, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return nil, err
	}
	days := defaultDays
	if req.Days != nil {
		days = int(*req.Days)
	}
	rows, err := s.Usage.Days(ctx, p.UserID, days)
	if err != nil {
		return nil, err
	}
	res := &pb.GetUsageResponse{Total: &pb.UsageRow{}}
	for _, r := range rows {
		row := &pb.UsageRow{
			Date: r.Day, Model: r.Model, InputTokens: float64(r.InputTokens), OutputTokens: float64(r.OutputTokens),
			CachedTokens: float64(r.CachedTokens), ModelCalls: int32(r.ModelCalls), ToolCalls: int32(r.ToolCalls), CostUsd: r.CostUSD,
		}
		res.Rows = append(res.Rows, row)
		res.Total.InputTokens += row.InputTokens
		res.Total.OutputTokens += row.OutputTokens
		res.Total.CachedTokens += row.CachedTokens
		res.Total.ModelCalls += row.ModelCalls
		res.Total.ToolCalls += row.ToolCalls
		res.Total.CostUsd += row.CostUsd
	}
	return res, nil
}
