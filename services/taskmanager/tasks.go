package taskmanager

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/ident"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/task"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/urlkey"
)

const (
	// keyHeader is the name that callers know; metadata has it in lower case.
	keyHeader = "Idempotency-Key"
	// maxKey is the longest key, in bytes.
	maxKey = 200

	defaultExtract = "text"
	defaultLimit   = 20
)

// CreateCrawlTask stores a batch.
func (s *Service) CreateCrawlTask(ctx context.Context, req *pb.CreateCrawlTaskRequest) (*pb.CreateCrawlTaskResponse, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return nil, err
	}
	key, err := keyOf(ctx, req)
	if err != nil {
		return nil, err
	}
	t, err := s.create(ctx, p.UserID, req, key)
	if err != nil {
		return nil, err
	}
	return &pb.CreateCrawlTaskResponse{TaskId: t.ID, Status: t.Status, Total: int32(t.Total), Message: created(t, len(req.GetUrls()))}, nil
}

func (s *Service) create(ctx context.Context, userID string, req *pb.CreateCrawlTaskRequest, key task.Key) (schema.Task, error) {
	urls := req.GetUrls()
	if len(urls) == 0 || len(urls) > MaxURLs {
		return schema.Task{}, rpcerr.InvalidArgument("urls", fmt.Sprintf("%d addresses were given; a task takes 1 to %d", len(urls), MaxURLs))
	}
	parallel := DefaultParallel
	if req.Parallel != nil {
		parallel = int(req.GetParallel())
	}
	if parallel < 1 || parallel > MaxParallel {
		return schema.Task{}, rpcerr.InvalidArgument("parallel", fmt.Sprintf("it is %d and must be 1 to %d", parallel, MaxParallel))
	}
	extract := req.GetExtractType()
	if extract == "" {
		extract = defaultExtract
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	made := task.Request{
		UserID: userID, ExtractType: extract, Parallel: parallel, TraceParent: carrier["traceparent"], Key: key,
	}
	for _, raw := range urls {
		made.URLs = append(made.URLs, s.read(raw))
	}
	t, err := s.tasks.Create(ctx, made)
	if errors.Is(err, task.ErrNotFound) {
		return t, rpcerr.New(codes.NotFound, "NOT_FOUND", "The task that this Idempotency-Key stands for was removed. Use a new key for a new request.")
	}
	if err != nil {
		return t, shaped(err, "")
	}
	s.dispatch.Created(ctx, t)
	return t, nil
}

// read judges one address. One that cannot be fetched is a result of the task.
func (s *Service) read(raw string) task.URL {
	bad := func(reason, words string) task.URL {
		text := strings.TrimSpace(raw)
		return task.URL{Address: urlkey.Address{URL: text, Key: urlkey.Raw(text)}, Reason: reason, Words: words}
	}
	a, err := urlkey.Parse(raw)
	if words, ok := errors.AsType[*urlkey.Error](err); ok {
		return bad(task.ReasonBadURL, words.Words)
	}
	if len(a.URL) > maxURLBytes {
		return bad(task.ReasonBadURL, fmt.Sprintf("the address has %d bytes; at most %d are taken", len(a.URL), maxURLBytes))
	}
	if _, err := s.guard.CheckURL(a.URL); err != nil {
		u := task.URL{Address: a, Reason: task.ReasonBadURL, Words: "the address may not be fetched"}
		if refused, ok := errors.AsType[*netguard.Error](err); ok {
			u.Words = refused.Error()
			if private(refused.Reason) {
				u.Reason = reasonPrivate
			}
		}
		return u
	}
	return task.URL{Address: a}
}

// reasonPrivate is the fetcher's reason for an address that is not public.
const reasonPrivate = "PRIVATE_ADDRESS"

// private reports whether the guard refuses where an address leads, and not how it
// is written.
func private(reason string) bool {
	switch reason {
	case netguard.ReasonParse, netguard.ReasonScheme, netguard.ReasonUserinfo, netguard.ReasonPort, netguard.ReasonNetwork:
		return false
	}
	return true
}

// created is what a person or a model is told about a new task.
func created(t schema.Task, asked int) string {
	var b strings.Builder
	switch {
	case t.Ended() && t.Failed == t.Total:
		b.WriteString("None of the addresses can be fetched; the task says why of each.")
	case t.Ended(): // the request came again
		fmt.Fprintf(&b, "The task has ended already: it is %s, and %d of %d pages came. Read it with task %s.", t.Status, t.Succeeded, t.Total, t.ID)
		return b.String()
	default:
		fmt.Fprintf(&b, "%s taken, to be fetched in the background.", count(t.Total, "address", "addresses"))
	}
	if n := asked - t.Total; n > 0 {
		fmt.Fprintf(&b, " %s named twice and fetched once.", count(n, "was", "were"))
	}
	if t.Failed > 0 && !t.Ended() {
		fmt.Fprintf(&b, " %s cannot be fetched; the task says why.", fmt.Sprint(t.Failed, " of them"))
	}
	fmt.Fprintf(&b, " Ask for task %s until its status is completed.", t.ID)
	return b.String()
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// keyOf reads the Idempotency-Key of a request.
func keyOf(ctx context.Context, req proto.Message) (task.Key, error) {
	values := metadata.ValueFromIncomingContext(ctx, keyHeader)
	switch {
	case len(values) == 0:
		return task.Key{}, nil
	case len(values) > 1 || values[0] == "":
		return task.Key{}, rpcerr.InvalidArgument(keyHeader, "it must be one value that is not empty")
	case len(values[0]) > maxKey:
		return task.Key{}, rpcerr.InvalidArgument(keyHeader, fmt.Sprintf("it has %d bytes; at most %d are taken", len(values[0]), maxKey))
	}
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(req)
	if err != nil {
		return task.Key{}, fmt.Errorf("read the request: %w", err)
	}
	sum := sha256.Sum256(body)
	return task.Key{Key: values[0], BodySHA256: hex.EncodeToString(sum[:])}, nil
}

// ListCrawlTasks lists the caller's tasks, newest first.
func (s *Service) ListCrawlTasks(ctx context.Context, req *pb.ListCrawlTasksRequest) (*pb.ListCrawlTasksResponse, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return nil, err
	}
	limit := defaultLimit
	if req.Limit != nil {
		limit = int(req.GetLimit())
	}
	if c := req.GetCursor(); c != "" && !ident.Is(c, schema.TaskPrefix) {
		return nil, rpcerr.InvalidArgument("cursor", "it must be the next_cursor of an answer")
	}
	rows, err := s.tasks.List(ctx, p.UserID, req.GetStatus(), req.GetCursor(), limit+1)
	if err != nil {
		return nil, shaped(err, "")
	}
	out := &pb.ListCrawlTasksResponse{HasMore: len(rows) > limit}
	if out.HasMore {
		rows = rows[:limit]
		out.NextCursor = rows[limit-1].ID
	}
	for _, t := range rows {
		out.Items = append(out.Items, s.wire(t))
	}
	return out, nil
}

// GetCrawlTask returns one task with its first results.
func (s *Service) GetCrawlTask(ctx context.Context, req *pb.GetCrawlTaskRequest) (*pb.GetCrawlTaskResponse, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return nil, err
	}
	t, err := s.get(ctx, p.UserID, req.GetTaskId())
	if err != nil {
		return nil, err
	}
	return &pb.GetCrawlTaskResponse{Task: t}, nil
}

// CancelCrawlTask ends a task.
func (s *Service) CancelCrawlTask(ctx context.Context, req *pb.CancelCrawlTaskRequest) (*pb.CancelCrawlTaskResponse, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.cancel(ctx, p.UserID, req.GetTaskId()); err != nil {
		return nil, err
	}
	t, err := s.get(ctx, p.UserID, req.GetTaskId())
	if err != nil {
		return nil, err
	}
	return &pb.CancelCrawlTaskResponse{Task: t}, nil
}

func (s *Service) cancel(ctx context.Context, userID, taskID string) error {
	if _, err := s.tasks.Cancel(ctx, userID, taskID); err != nil {
		return shaped(err, taskID)
	}
	s.dispatch.Ended(taskID)
	return nil
}
