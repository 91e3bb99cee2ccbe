package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/engine"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

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

// errParked ends waiting for a run that waits for a person itself.
var errParked = errors.New("the run is parked")

const (
	// fullEvery is how often who waits for an answer looks whether it can be
	// stored at all, and fullRetry when it is worth to ask again.
	fullEvery = 500 * time.Millisecond
	fullRetry = 30 * time.Second
)

// whileRoom is ctx, but ends with store.ErrDiskFull as its cause when nothing can
// be stored: no run ends then. stop must be called.
func (s *Conversations) whileRoom(ctx context.Context) (room context.Context, stop func()) {
	room, cancel := context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(fullEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if s.Runs.DB.Full() {
					cancel(store.ErrDiskFull)
					return
				}
			case <-room.Done():
				return
			}
		}
	}()
	return room, func() { cancel(nil) }
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
		room, stop := s.whileRoom(ctx)
		err = s.Watcher.Follow(room, p.UserID, runID, r.LastSeq, func(e *pb.RunEvent) error {
			if e.GetNotice().GetKind() == engine.NoticeStuck {
				return errParked
			}
			_, drained = e.Event.(*pb.RunEvent_Bye)
			return nil
		})
		stop()
		if err != nil && errors.Is(context.Cause(room), store.ErrDiskFull) {
			return nil, rpcerr.New(codes.Unavailable, "STORAGE_FULL", "The answer cannot be stored: %v. The run goes on when there is room; ask for it by its id.", store.ErrDiskFull).
				WithRetry(fullRetry).WithMeta("run_id", runID)
		}
		if err != nil && !errors.Is(err, errParked) {
			return nil, runError(err, runID)
		}
		if drained {
			return nil, rpcerr.New(codes.Unavailable, "DRAINING", "This server is about to stop. The run goes on; ask for it in a moment.").
				WithRetry(time.Second).WithMeta("run_id", runID)
		}
	}
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
	started, err := s.chat(ctx, p, req)
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

// chat begins the run that answers a bot, in a conversation of its own when it
// names none.
func (s *Conversations) chat(ctx context.Context, p auth.Principal, req *pb.ChatRequest) (run.Started, error) {
	a := ask{conversation: req.ConversationId, content: req.Message, route: "chat", body: bodyOf(req)}
	if a.conversation != "" {
		return s.start(ctx, p, a)
	}
	c, err := s.Store.Create(ctx, p.UserID, "", "", "")
	if err != nil {
		return run.Started{}, err
	}
	a.conversation = c.ID
	started, err := s.start(ctx, p, a)
	if err != nil || started.Attached { // the new conversation is not used
		err = errors.Join(err, s.Store.Delete(context.WithoutCancel(ctx), p.UserID, c.ID))
	}
	return started, err
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
	if own != "" {
		if _, ok := s.Models.Model(own); !ok {
			return "", rpcerr.New(codes.FailedPrecondition, "MODEL_NOT_CONFIGURED",
				"The conversation is set to the model %q, which is not configured any more. Set another one, or name one with the message.", own)
		}
		return own, nil
	}
	if id := s.Models.Default(); id != "" {
		return id, nil
	}
	return "", rpcerr.New(codes.FailedPrecondition, "MODEL_NOT_CONFIGURED",
		"No model is configured. Add one to config.yml under models: with id, api_url and api_key, and start again.")
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
