package api

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/prompt"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// ListMessages returns the active branch, oldest first.
func (s *Conversations) ListMessages(ctx context.Context, req *pb.ListMessagesRequest) (*pb.ListMessagesResponse, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return nil, err
	}
	c, err := s.Store.Get(ctx, p.UserID, req.ConversationId)
	if err != nil {
		return nil, conversationError(err, req.ConversationId, "")
	}
	branch, err := s.Store.Branch(ctx, c.ID, c.ActiveLeaf)
	if err != nil {
		return nil, err
	}
	if req.Cursor != "" {
		at := -1
		for i, m := range branch {
			if m.ID == req.Cursor {
				at = i
			}
		}
		if at < 0 {
			return nil, rpcerr.InvalidArgument("cursor", "it is not the next_cursor of a page of this conversation")
		}
		branch = branch[at+1:]
	}
	res := &pb.ListMessagesResponse{}
	if res.Items, err = s.fill(ctx, p.UserID, branch[:min(len(branch), page(req.Limit))]); err != nil {
		return nil, err
	}
	if n := len(res.Items); n < len(branch) {
		res.HasMore, res.NextCursor = true, branch[n-1].ID
	}
	return res, nil
}

const (
	// maxPageBytes is where a page of messages ends early, with one message at
	// least: results are part of them, and an answer of ours is bounded.
	maxPageBytes = 4 << 20
	// readMessages of a page are read at once.
	readMessages = 10
)

// fill makes messages of the API until the page is full.
func (s *Conversations) fill(ctx context.Context, userID string, list []schema.Message) ([]*pb.Message, error) {
	var out []*pb.Message
	size := 0
	for some := range slices.Chunk(list, readMessages) {
		wire, err := s.wireMessages(ctx, userID, some)
		if err != nil {
			return nil, err
		}
		for _, m := range wire {
			if size += proto.Size(m); size > maxPageBytes && len(out) > 0 {
				return out, nil
			}
			out = append(out, m)
		}
	}
	return out, nil
}

func (s *Conversations) wireMessages(ctx context.Context, userID string, list []schema.Message) ([]*pb.Message, error) {
	var ids []string
	for _, m := range list {
		if m.RunID != "" {
			ids = append(ids, m.RunID)
		}
	}
	calls, tools, err := s.Runs.Rounds(ctx, true, ids...)
	if err != nil {
		return nil, err
	}
	rounds := prompt.ByRun(calls, tools)
	runs, err := s.Runs.GetMany(ctx, userID, ids)
	if err != nil {
		return nil, err
	}
	used, err := s.Runs.Used(ctx, ids...)
	if err != nil {
		return nil, err
	}
	out := make([]*pb.Message, len(list))
	for i, m := range list {
		out[i] = wireMessage(m, runs[m.RunID], rounds[m.RunID], used[m.RunID])
	}
	return out, nil
}
