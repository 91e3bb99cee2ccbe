package api

import (
	"context"
	"encoding/json"
	"fmt"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/engine"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/invoke"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/registry"
)

// Tools serves ToolService.
type Tools struct {
	pb.UnimplementedToolServiceServer

	Registry *registry.Registry
	Invoker  *invoke.Invoker
}

// ListTools lists every registered tool.
func (s *Tools) ListTools(context.Context, *pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
	res := &pb.ListToolsResponse{}
	for _, t := range s.Registry.Snapshot().All() {
		res.Tools = append(res.Tools, &pb.ToolInfo{
			Name: t.Name, Title: t.Title, Description: t.Description, Parameters: t.Schema, Provider: t.Provider.Name,
			Effect: t.Effect, Sink: t.Sink, Enabled: t.Enabled, Asks: t.Asks, Version: t.Version,
		})
	}
	return res, nil
}

// InvokeTool runs one tool without a model.
func (s *Tools) InvokeTool(ctx context.Context, req *pb.InvokeToolRequest) (*pb.InvokeToolResponse, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return nil, err
	}
	args := req.ArgumentsJson
	if args == "" {
		b, err := json.Marshal(req.Arguments.AsMap())
		if err != nil {
			return nil, fmt.Errorf("encode arguments: %w", err)
		}
		args = string(b)
	}
	key, err := keyOf(ctx, invoke.Route(req.Name), bodyOf(req))
	if err != nil {
		return nil, err
	}
	c, err := s.Invoker.Do(ctx, p, invoke.Request{Name: req.Name, Arguments: args, Confirm: req.ConfirmArgsSha256, Key: key})
	if err != nil {
		return nil, keyError(err)
	}
	return &pb.InvokeToolResponse{Result: engine.WireResult(c)}, nil
}
