package api

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/conversation"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/engine"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/result"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/watch"
)

// endTime is how long deleting a conversation waits for its run to end.
const endTime = 5 * time.Second

// filesRetry is when deleting is tried again while the files are away.
const filesRetry = 2 * time.Second

// ModelList resolves the model of a request.
type ModelList interface {
	engine.Models
	// Default is the id of the default model; empty when none is configured.
	Default() string
	// IDs of all configured models.
	IDs() []string
}

// Conversations serves ConversationService.
type Conversations struct {
	pb.UnimplementedConversationServiceServer

	Store   *conversation.Store
	Runs    *run.Store
	Engine  *engine.Engine
	Watcher *watch.Watcher
	Results *result.Keeper
	Models  ModelList
	// Files has the workspaces of conversations; nil: there are none.
	Files sandboxv1.WorkspaceServiceClient
}

// CreateConversation begins a conversation.
func (s *Conversations) CreateConversation(ctx context.Context, req *pb.CreateConversationRequest) (*pb.CreateConversationResponse, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.known(req.Model); err != nil {
		return nil, err
	}
	key, err := keyOf(ctx, "conversations", bodyOf(req))
	if err != nil {
		return nil, err
	}
	c, err := s.Store.CreateOnce(ctx, p.UserID, req.Title, req.Model, req.SystemPrompt, key)
	if errors.Is(err, conversation.ErrNotFound) {
		return nil, keyOfNothing("conversation")
	}
	if err != nil {
		return nil, keyError(err)
	}
	list, err := s.wire(ctx, p.UserID, c)
	if err != nil {
		return nil, err
	}
	return &pb.CreateConversationResponse{Conversation: list[0]}, nil
}

// GetConversation returns one conversation.
func (s *Conversations) GetConversation(ctx context.Context, req *pb.GetConversationRequest) (*pb.GetConversationResponse, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return nil, err
	}
	c, err := s.Store.Get(ctx, p.UserID, req.ConversationId)
	if err != nil {
		return nil, conversationError(err, req.ConversationId, "")
	}
	list, err := s.wire(ctx, p.UserID, c)
	if err != nil {
		return nil, err
	}
	return &pb.GetConversationResponse{Conversation: list[0]}, nil
}

// wire adds what is known of live runs and lengths.
func (s *Conversations) wire(ctx context.Context, userID string, list ...schema.Conversation) ([]*pb.Conversation, error) {
	var leaves []string
	for _, c := range list {
		if c.ActiveLeaf != "" {
			leaves = append(leaves, c.ActiveLeaf)
		}
	}
	lengths := map[string]int{}
	if len(leaves) > 0 {
		var err error
		if lengths, err = s.Store.Lengths(ctx, leaves); err != nil {
			return nil, err
		}
	}
	out := make([]*pb.Conversation, len(list))
	for i, c := range list {
		var live *schema.Run
		if c.LiveRun != "" {
			r, err := s.Runs.Get(ctx, userID, c.LiveRun)
			if err != nil && !errors.Is(err, run.ErrNotFound) {
				return nil, err
			}
			if err == nil {
				live = &r
			}
		}
		out[i] = wireConversation(c, live, lengths[c.ActiveLeaf])
	}
	return out, nil
}

// ListConversations lists the caller's conversations, newest first.
func (s *Conversations) ListConversations(ctx context.Context, req *pb.ListConversationsRequest) (*pb.ListConversationsResponse, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkCursor(req.Cursor, schema.ConversationPrefix); err != nil {
		return nil, err
	}
	limit := page(req.Limit)
	list, err := s.Store.List(ctx, p.UserID, req.Cursor, limit+1)
	if err != nil {
		return nil, err
	}
	res := &pb.ListConversationsResponse{HasMore: len(list) > limit}
	if res.HasMore {
		list = list[:limit]
		res.NextCursor = list[limit-1].ID
	}
	if res.Items, err = s.wire(ctx, p.UserID, list...); err != nil {
		return nil, err
	}
	return res, nil
}

// UpdateConversation changes the fields that are set.
func (s *Conversations) UpdateConversation(ctx context.Context, req *pb.UpdateConversationRequest) (*pb.UpdateConversationResponse, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.known(req.GetModel()); err != nil {
		return nil, err
	}
	c, err := s.Store.Update(ctx, p.UserID, req.ConversationId, conversation.Changes{Title: req.Title, Model: req.Model, SystemPrompt: req.SystemPrompt})
	if err != nil {
		return nil, conversationError(err, req.ConversationId, "")
	}
	list, err := s.wire(ctx, p.UserID, c)
	if err != nil {
		return nil, err
	}
	return &pb.UpdateConversationResponse{Conversation: list[0]}, nil
}

// DeleteConversation removes a conversation with all that is below it.
func (s *Conversations) DeleteConversation(ctx context.Context, req *pb.DeleteConversationRequest) (*pb.DeleteConversationResponse, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return nil, err
	}
	c, err := s.Store.Get(ctx, p.UserID, req.ConversationId)
	if err != nil {
		return nil, conversationError(err, req.ConversationId, "")
	}
	if c.LiveRun != "" {
		if err := s.endRun(ctx, p.UserID, c.LiveRun); err != nil {
			return nil, err
		}
	}
	// Files and stored results first: as long as the rows are there deleting can
	// be repeated.
	if err := s.deleteFiles(ctx, p.UserID, c.ID); err != nil {
		return nil, err
	}
	blobs, err := s.Store.Blobs(ctx, c.ID)
	if err == nil {
		err = s.Results.Delete(ctx, blobs)
	}
	if err == nil {
		err = s.Store.Delete(ctx, p.UserID, c.ID)
	}
	if err != nil {
		return nil, conversationError(err, req.ConversationId, "")
	}
	return &pb.DeleteConversationResponse{}, nil
}

// deleteFiles removes the workspace of a conversation, which has its id. Who may
// delete the conversation may delete what belongs to it.
func (s *Conversations) deleteFiles(ctx context.Context, userID, id string) error {
	if s.Files == nil {
		return nil
	}
	ctx = auth.NewContext(ctx, auth.UserPrincipal(userID, auth.ScopeAll))
	_, err := s.Files.DeleteWorkspace(ctx, &sandboxv1.DeleteWorkspaceRequest{WorkspaceId: id})
	if err == nil || status.Code(err) == codes.NotFound {
		return nil
	}
	return rpcerr.New(codes.Unavailable, "FILES_UNAVAILABLE",
		"The files of the conversation cannot be deleted right now, so nothing more was deleted. Try again.").
		WithRetry(filesRetry).WithCause(err)
}

// endRun cancels a run and gives it a moment to end in order. A run that does
// not is fenced off when its rows are gone.
func (s *Conversations) endRun(ctx context.Context, userID, runID string) error {
	r, err := s.Engine.Cancel(ctx, userID, runID)
	if errors.Is(err, run.ErrNotFound) || (err == nil && r.Ended()) {
		return nil
	}
	if err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	err = s.Watcher.Follow(wait, userID, runID, r.LastSeq, func(*pb.RunEvent) error { return nil })
	if err != nil && ctx.Err() == nil && wait.Err() != nil {
		return nil
	}
	return err
}
