package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/conversation"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/engine"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/prompt"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/result"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/watch"
)

// endTime is how long deleting a conversation waits for its run to end.
const endTime = 5 * time.Second

// maxKey is the longest Idempotency-Key.
const maxKey = 200

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
	c, err := s.Store.Create(ctx, p.UserID, req.Title, req.Model, req.SystemPrompt)
	if err != nil {
		return nil, err
	}
	return &pb.CreateConversationResponse{Conversation: wireConversation(c, nil, 0)}, nil
}

// known refuses a model that is not configured. The empty id is the default.
func (s *Conversations) known(model string) error {
	if model == "" {
		return nil
	}
	if _, ok := s.Models.Model(model); ok {
		return nil
	}
	ids := strings.Join(s.Models.IDs(), ", ")
	if ids == "" {
		ids = "none is configured"
	}
	return rpcerr.InvalidArgument("model", fmt.Sprintf("there is no model %q; the models are: %s", model, ids))
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
	blobs, err := s.Store.Delete(ctx, p.UserID, c.ID)
	if err != nil {
		return nil, conversationError(err, req.ConversationId, "")
	}
	if err := s.Results.Delete(ctx, blobs); err != nil {
		return nil, fmt.Errorf("delete results of conversation %s: %w", c.ID, err)
	}
	return &pb.DeleteConversationResponse{}, nil
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
	if limit := page(req.Limit); len(branch) > limit {
		branch = branch[:limit]
		res.HasMore, res.NextCursor = true, branch[limit-1].ID
	}
	if res.Items, err = s.wireMessages(ctx, p.UserID, branch); err != nil {
		return nil, err
	}
	return res, nil
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
	out := make([]*pb.Message, len(list))
	for i, m := range list {
		out[i] = wireMessage(m, runs[m.RunID], rounds[m.RunID])
	}
	return out, nil
}

// SendMessage asks, waits for the run to end and returns the answer.
func (s *Conversations) SendMessage(ctx context.Context, req *pb.SendMessageRequest) (*pb.SendMessageResponse, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return nil, err
	}
	started, err := s.start(ctx, p, ask{
		conversation: req.ConversationId, content: req.Content, model: req.Model, tools: req.ToolsEnabled, route: "messages/" + req.ConversationId, body: bodyOf(req),
	})
	if err != nil {
		return nil, err
	}
	m, err := s.answer(ctx, p, started.Run.ID)
	if err != nil {
		return nil, err
	}
	return &pb.SendMessageResponse{Message: m}, nil
}

// bodyOf is what an idempotency key is bound to. Whether the answer is streamed
// is not part of what is asked.
func bodyOf(req proto.Message) string {
	switch r := req.(type) {
	case *pb.SendMessageRequest:
		req = &pb.StreamMessageRequest{ConversationId: r.ConversationId, Content: r.Content, ToolsEnabled: r.ToolsEnabled, Model: r.Model}
	case *pb.StreamMessageRequest:
		req = &pb.StreamMessageRequest{ConversationId: r.ConversationId, Content: r.Content, ToolsEnabled: r.ToolsEnabled, Model: r.Model}
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(req)
	if err != nil {
		panic(err) // a message that was received can be written
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// answer waits for the end of a run.
func (s *Conversations) answer(ctx context.Context, p auth.Principal, runID string) (*pb.Message, error) {
	for {
		r, err := s.Runs.Get(ctx, p.UserID, runID)
		if err != nil {
			return nil, runError(err, runID)
		}
		switch {
		case r.Status == schema.RunWaiting:
			return &pb.Message{RunId: r.ID, ConversationId: r.ConversationID, Status: r.Status, WaitingFor: waitingFor(r)}, nil
		case r.Status == schema.RunFailed:
			return nil, failed(r)
		case r.Ended():
			m, err := s.Store.Message(ctx, p.UserID, r.MessageID)
			if err != nil {
				return nil, conversationError(err, r.ConversationID, r.MessageID)
			}
			list, err := s.wireMessages(ctx, p.UserID, []schema.Message{m})
			if err != nil {
				return nil, err
			}
			return list[0], nil
		}
		drained := false
		err = s.Watcher.Follow(ctx, p.UserID, runID, r.LastSeq, func(e *pb.RunEvent) error {
			_, drained = e.Event.(*pb.RunEvent_Bye)
			return nil
		})
		if err != nil {
			return nil, runError(err, runID)
		}
		if drained {
			return nil, rpcerr.New(codes.Unavailable, "DRAINING", "This server is about to stop. The run goes on; ask for it in a moment.").
				WithRetry(time.Second).WithMeta("run_id", runID)
		}
	}
}

// failed is the error of a run that failed.
func failed(r schema.Run) error {
	code := codes.Unavailable
	switch r.ErrorCode {
	case 409:
		code = codes.FailedPrecondition
	case 413, 422:
		code = codes.InvalidArgument
	case 429:
		code = codes.ResourceExhausted
	case 500:
		code = codes.Internal
	case 504:
		code = codes.DeadlineExceeded
	}
	err := rpcerr.New(code, r.ErrorReason, "%s", r.ErrorMessage).WithMeta("run_id", r.ID)
	if r.ErrorRetryable && (code == codes.Unavailable || code == codes.ResourceExhausted) {
		err = err.WithRetry(queueRetry)
	}
	return err
}

// StreamMessage asks and streams the run.
func (s *Conversations) StreamMessage(req *pb.StreamMessageRequest, stream grpc.ServerStreamingServer[pb.RunEvent]) error {
	return s.stream(stream, ask{
		conversation: req.ConversationId, content: req.Content, model: req.Model, tools: req.ToolsEnabled, route: "messages/" + req.ConversationId, body: bodyOf(req),
	})
}

// RegenerateMessage answers a question again and streams the run.
func (s *Conversations) RegenerateMessage(req *pb.RegenerateMessageRequest, stream grpc.ServerStreamingServer[pb.RunEvent]) error {
	return s.stream(stream, ask{
		conversation: req.ConversationId, regenerate: req.MessageId, model: req.Model, tools: req.ToolsEnabled, route: "regenerate/" + req.MessageId, body: bodyOf(req),
	})
}

func (s *Conversations) stream(stream grpc.ServerStreamingServer[pb.RunEvent], a ask) error {
	ctx := stream.Context()
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return err
	}
	started, err := s.start(ctx, p, a)
	if err != nil {
		return err
	}
	return runError(s.Watcher.Follow(ctx, p.UserID, started.Run.ID, 0, stream.Send), started.Run.ID)
}

// Chat is the simple entry for bots.
func (s *Conversations) Chat(ctx context.Context, req *pb.ChatRequest) (*pb.ChatResponse, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return nil, err
	}
	id := req.ConversationId
	if id == "" {
		if _, err := s.model("", ""); err != nil {
			return nil, err // before a conversation is made for nothing
		}
		c, err := s.Store.Create(ctx, p.UserID, "", "", "")
		if err != nil {
			return nil, err
		}
		id = c.ID
	}
	started, err := s.start(ctx, p, ask{conversation: id, content: req.Message, route: "chat", body: bodyOf(req)})
	if err != nil {
		return nil, err
	}
	m, err := s.answer(ctx, p, started.Run.ID)
	if err != nil {
		return nil, err
	}
	if m.Status == schema.RunWaiting {
		return nil, rpcerr.New(codes.FailedPrecondition, "RUN_WAITING", "The answer waits for a person's decision (%s).", strings.Join(m.WaitingFor, ", ")).
			WithMeta("run_id", m.RunId)
	}
	return &pb.ChatResponse{Reply: m.Content, ConversationId: m.ConversationId}, nil
}

// ask is what is asked in a conversation.
type ask struct {
	conversation string
	content      string
	regenerate   string
	model        string
	tools        *bool
	route, body  string
}

// start begins the run that answers.
func (s *Conversations) start(ctx context.Context, p auth.Principal, a ask) (run.Started, error) {
	c, err := s.Store.Get(ctx, p.UserID, a.conversation)
	if err != nil {
		return run.Started{}, conversationError(err, a.conversation, a.regenerate)
	}
	model, err := s.model(a.model, c.Model)
	if err != nil {
		return run.Started{}, err
	}
	key, err := keyOf(ctx, a.route, a.body)
	if err != nil {
		return run.Started{}, err
	}
	req := run.Request{
		UserID: p.UserID, ConversationID: c.ID, Content: a.content, RegenerateOf: a.regenerate, Model: model,
		ToolsEnabled: a.tools == nil || *a.tools, Key: key,
	}
	if sc := trace.SpanContextFromContext(ctx); sc.HasTraceID() {
		carrier := propagation.MapCarrier{}
		propagation.TraceContext{}.Inject(ctx, carrier)
		req.TraceID, req.TraceParent = sc.TraceID().String(), carrier["traceparent"]
	}
	started, err := s.Engine.Start(ctx, req)
	if err != nil {
		return started, conversationError(err, a.conversation, a.regenerate)
	}
	return started, nil
}

// model is the id of the model that answers: what the request names, else the
// conversation, else the default.
func (s *Conversations) model(asked, own string) (string, error) {
	if asked != "" {
		return asked, s.known(asked)
	}
	if _, ok := s.Models.Model(own); ok {
		return own, nil
	}
	if id := s.Models.Default(); id != "" {
		return id, nil
	}
	return "", rpcerr.New(codes.FailedPrecondition, "MODEL_NOT_CONFIGURED",
		"No model is configured. Add one to config.yml under models: with id, api_url and api_key, and start again.")
}

// keyOf reads the Idempotency-Key of a request.
func keyOf(ctx context.Context, route, body string) (run.Key, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	values := md.Get("idempotency-key")
	if len(values) == 0 || values[0] == "" {
		return run.Key{}, nil
	}
	if len(values[0]) > maxKey {
		return run.Key{}, rpcerr.InvalidArgument("Idempotency-Key", fmt.Sprintf("it has %d bytes; at most %d are taken", len(values[0]), maxKey))
	}
	return run.Key{Route: route, Key: values[0], BodySHA256: body}, nil
}
