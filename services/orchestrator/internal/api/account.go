package api

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/usage"
)

// defaultDays is how far usage goes back when nobody says.
const defaultDays = 30

// checkTime is how long the endpoint of a model may take to answer.
const checkTime = 10 * time.Second

// Account serves AccountService.
type Account struct {
	pb.UnimplementedAccountServiceServer

	Models []*pb.Model
	// DefaultModel is empty when no model is configured.
	DefaultModel string
	// Check asks the endpoint of a model; ok is false for a model that is not
	// configured.
	Check func(ctx context.Context, model string) (answer *pb.CheckModelResponse, ok bool)
	// Server is what GetServerInfo answers.
	Server *pb.GetServerInfoResponse
	Usage  *usage.Store
}

// CheckModel asks the endpoint of a configured model.
func (s *Account) CheckModel(ctx context.Context, req *pb.CheckModelRequest) (*pb.CheckModelResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	answer, ok := s.Check(ctx, req.Model)
	if !ok {
		return nil, rpcerr.New(codes.NotFound, "NOT_FOUND", "no model %q is configured", req.Model)
	}
	return answer, nil
}

// GetServerInfo tells what serves.
func (s *Account) GetServerInfo(context.Context, *pb.GetServerInfoRequest) (*pb.GetServerInfoResponse, error) {
	return s.Server, nil
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
