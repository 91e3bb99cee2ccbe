package run

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/ident"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/idempotency"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

var (
	// ErrNoConversation says that there is no such conversation of this user.
	ErrNoConversation = errors.New("run: no such conversation")
	// ErrNoMessage says that there is no such message in the conversation.
	ErrNoMessage = errors.New("run: no such message")
	// ErrTooMany says that the user's queue is full.
	ErrTooMany = errors.New("run: too many runs are queued")
)

// InProgressError says that the conversation has a live run.
type InProgressError struct{ RunID string }

func (e *InProgressError) Error() string { return "run: run " + e.RunID + " is going on" }

// Limits bound how many runs go on at once.
type Limits struct {
	// RunningPerUser runs of a user go on at once; more are queued.
	RunningPerUser int
	// QueuedPerUser runs of a user may wait; more are refused.
	QueuedPerUser int
}

// Request asks for a new run.
type Request struct {
	UserID         string
	ConversationID string
	// Content is the new user message. Empty: RegenerateOf is answered again.
	Content      string
	RegenerateOf string
	Model        string
	ToolsEnabled bool
	TraceID      string
	TraceParent  string
	Key          idempotency.Key
	// Free says that the owner has room for one more run. Without room the run
	// is queued.
	Free bool
}

// Started is what Start made.
type Started struct {
	Run schema.Run
	// Lease is set when the run is running, owned by whoever asked.
	Lease Lease
	// Call is the first model call of a running run.
	Call schema.ModelCall
	// Events are the events logged with it.
	Events []*pb.RunEvent
	// Attached says that the key named a run made earlier; nothing was made.
	Attached bool
}

// maxTitle is how many characters of the first message make a title.
const maxTitle = 60

// Start stores the user's message and a run that answers it, leased to the
// owner and with its first model call, or queued. After a store.ErrUnknownCommit
// the same request with the same key attaches to what was stored, or is stored.
func (s *Store) Start(ctx context.Context, req Request, owner Owner, limits Limits) (Started, error) {
	return s.startBy(ctx, s.DB.Write, req, owner, limits)
}

// startBy is Start by a way to write.
func (s *Store) startBy(ctx context.Context, write func(context.Context, closure) error, req Request, owner Owner, limits Limits) (Started, error) {
	var out Started
	runID, messageID, userMessageID := ident.New(schema.RunPrefix), ident.New(schema.MessagePrefix), ident.New(schema.MessagePrefix)
	if req.Content != "" { // the question sorts before its answer
		userMessageID, messageID = messageID, userMessageID
	}
	err := once(ctx, write, func(ctx context.Context, tx bun.IDB) error {
		out = Started{}
		earlier, err := idempotency.Take(ctx, tx, s.Now(), req.UserID, req.Key, runID)
		if err != nil {
			return err
		}
		if earlier != "" {
			out.Attached = true
			out.Run, err = get(ctx, tx, req.UserID, earlier)
			return err
		}
		now := s.Now()
		running, err := s.admit(ctx, tx, req, limits)
		if err != nil {
			return err
		}
		r := schema.Run{
			ID: runID, ConversationID: req.ConversationID, UserID: req.UserID, UserMessageID: userMessageID, MessageID: messageID,
			Model: req.Model, ToolsEnabled: req.ToolsEnabled, Status: schema.RunQueued, LastSeq: 1,
			TraceID: req.TraceID, TraceParent: req.TraceParent, CreatedAt: now.UnixMilli(),
		}
		if running {
			leased, err := s.DB.NowMillis(ctx, tx)
			if err != nil {
				return err
			}
			r.Status, r.Rounds = schema.RunRunning, 1
			r.LeaseOwner, r.LeaseAddr, r.LeaseEpoch, r.LeaseUntil = owner.ID, owner.Addr, 1, leased+LeaseTime.Milliseconds()
			out.Lease = Lease{RunID: r.ID, Owner: owner.ID, Epoch: 1}
			out.Call = schema.ModelCall{
				ID: ident.New(schema.ModelCallPrefix), RunID: r.ID, UserID: r.UserID, Round: 1, Attempt: 1,
				State: schema.ModelCallStarted, Model: r.Model, StartedAt: now.UnixMilli(),
			}
			if _, err := tx.NewInsert().Model(&out.Call).Exec(ctx); err != nil {
				return fmt.Errorf("store model call: %w", err)
			}
		}
		if err := s.ask(ctx, tx, req, &r, now); err != nil {
			return err
		}
		if _, err := tx.NewInsert().Model(&r).Exec(ctx); err != nil {
			return fmt.Errorf("store run: %w", err)
		}
		out.Run = r
		out.Events = []*pb.RunEvent{{Event: &pb.RunEvent_RunStarted{RunStarted: &pb.RunStarted{
			RunId: r.ID, ConversationId: r.ConversationID, UserMessageId: r.UserMessageID, Model: r.Model, TraceId: r.TraceID,
		}}}}
		return s.insertEvents(ctx, tx, r.ID, 0, out.Events)
	}, func(ctx context.Context, tx bun.IDB) (bool, error) {
		return stored(ctx, tx.NewSelect().Model((*schema.Run)(nil)).Where("id = ?", runID))
	})
	return out, err
}

// ask puts the question into the conversation and makes r its live run.
func (s *Store) ask(ctx context.Context, tx bun.IDB, req Request, r *schema.Run, now time.Time) error {
	var c schema.Conversation
	err := store.ForUpdate(tx.NewSelect().Model(&c).Where("id = ? AND user_id = ?", req.ConversationID, req.UserID)).Scan(ctx)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return ErrNoConversation
	case err != nil:
		return fmt.Errorf("read conversation: %w", err)
	case c.LiveRun != "":
		return &InProgressError{RunID: c.LiveRun}
	}
	question := schema.Message{}
	if req.Content == "" {
		if question, err = questionOf(ctx, tx, req); err != nil {
			return err
		}
		r.UserMessageID = question.ID
	} else {
		question = schema.Message{
			ID: r.UserMessageID, ConversationID: c.ID, UserID: c.UserID, ParentID: c.ActiveLeaf, PathLength: 1,
			Role: schema.RoleUser, Content: req.Content, CreatedAt: now.UnixMilli(),
		}
		if c.ActiveLeaf != "" {
			if err := tx.NewSelect().Model((*schema.Message)(nil)).Column("path_length").Where("id = ?", c.ActiveLeaf).Scan(ctx, &question.PathLength); err != nil {
				return fmt.Errorf("read active branch: %w", err)
			}
			question.PathLength++
		}
		if _, err := tx.NewInsert().Model(&question).Exec(ctx); err != nil {
			return fmt.Errorf("store message: %w", err)
		}
	}
	if c.Title == "" {
		c.Title = titleOf(question.Content)
	}
	res, err := tx.NewUpdate().Model((*schema.Conversation)(nil)).
		Set("live_run = ?, active_leaf = ?, title = ?, updated_at = ?", r.ID, question.ID, c.Title, now.UnixMilli()).
		Where("id = ? AND live_run = ''", c.ID).Exec(ctx)
	if err != nil {
		return fmt.Errorf("update conversation: %w", err)
	}
	if n, _ := res.RowsAffected(); n != 1 {
		return &InProgressError{}
	}
	return nil
}

// questionOf is the user message that regenerating answers again.
func questionOf(ctx context.Context, tx bun.IDB, req Request) (schema.Message, error) {
	var m schema.Message
	id := req.RegenerateOf
	for range 2 { // an answer, then its question
		m = schema.Message{}
		err := tx.NewSelect().Model(&m).Where("id = ? AND conversation_id = ? AND user_id = ?", id, req.ConversationID, req.UserID).Scan(ctx)
		if errors.Is(err, sql.ErrNoRows) {
			return m, ErrNoMessage
		}
		if err != nil {
			return m, fmt.Errorf("read message: %w", err)
		}
		if m.Role == schema.RoleUser {
			return m, nil
		}
		id = m.ParentID
	}
	return m, ErrNoMessage
}

// admit decides whether the run may go on at once, or must be queued.
func (s *Store) admit(ctx context.Context, tx bun.IDB, req Request, limits Limits) (running bool, err error) {
	count := func(status string) (int, error) {
		n, err := tx.NewSelect().Model((*schema.Run)(nil)).Where("user_id = ? AND status = ?", req.UserID, status).Count(ctx)
		if err != nil {
			return 0, fmt.Errorf("count runs: %w", err)
		}
		return int(n), nil
	}
	if err := oneByOne(ctx, tx, req.UserID); err != nil {
		return false, err
	}
	n, err := count(schema.RunRunning)
	if err != nil || (n < limits.RunningPerUser && req.Free) {
		return err == nil, err
	}
	if n, err = count(schema.RunQueued); err != nil {
		return false, err
	}
	if n >= limits.QueuedPerUser {
		return false, ErrTooMany
	}
	return false, nil
}

// oneByOne lets closures that count the runs of a user go one after another, so
// that replicas do not admit too many together.
func oneByOne(ctx context.Context, tx bun.IDB, userID string) error {
	var id string
	err := store.ForUpdate(tx.NewSelect().Model((*schema.User)(nil)).Column("id").Where("id = ?", userID)).Scan(ctx, &id)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("read user: %w", err)
	}
	return nil
}

func titleOf(content string) string {
	line := strings.Join(strings.Fields(content), " ")
	if r := []rune(line); len(r) > maxTitle {
		return strings.TrimSpace(string(r[:maxTitle-1])) + "…"
	}
	return line
}
