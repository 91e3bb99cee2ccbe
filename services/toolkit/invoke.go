package toolkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
)

// Ways in which a provider breaks the contract. [Invoke] wraps them.
var (
	// ErrTooLarge: the result is over InvokeOptions.MaxBytes.
	ErrTooLarge = errors.New("the provider's result is over the limit")
	// ErrNoResult: the stream ended well, but without a result.
	ErrNoResult = errors.New("the provider ended the call without a result")
	// ErrBadContent: the result is not JSON.
	ErrBadContent = errors.New("the provider's result is not valid JSON")
)

// InvokeOptions bounds and watches one call.
type InvokeOptions struct {
	// MaxBytes caps the result's text; 0 is [DefaultMaxResultBytes]. The stream is
	// cancelled beyond it.
	MaxBytes int
	// OnProgress is told of progress, in the goroutine of Invoke; may be nil.
	OnProgress func(*toolv1.Progress)
	// CallOptions go to gRPC.
	CallOptions []grpc.CallOption
}

// Outcome is the result of a call, put together.
type Outcome struct {
	// ContentJSON is valid JSON of at most MaxBytes.
	ContentJSON string
	// IsError says that the call failed in the tool's own terms.
	IsError bool
	// Origins names where untrusted parts come from.
	Origins []string
	// CostUSD is the money spent; 0 when the provider gives no real amount.
	CostUSD float64
}

// endTime is how long a provider may take to close its stream after the result.
const endTime = time.Second

// messageOverhead is what a message with one piece of content has besides it.
const messageOverhead = 64 << 10

// Invoke calls a tool and puts its result together. It trusts the provider with
// nothing: size and form are checked, what comes after the result is not read,
// and the stream never outlives Invoke. An error is one of the three above or
// the gRPC status error as it was received.
func Invoke(ctx context.Context, client toolv1.ToolProviderServiceClient, req *toolv1.CallToolRequest, opts InvokeOptions) (Outcome, error) {
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = DefaultMaxResultBytes
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	callOptions := append([]grpc.CallOption{grpc.MaxCallRecvMsgSize(opts.MaxBytes + messageOverhead)}, opts.CallOptions...)
	stream, err := client.CallTool(ctx, req, callOptions...)
	if err != nil {
		return Outcome{}, err
	}
	var content strings.Builder
	for {
		msg, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return Outcome{}, withoutResult(ctx, req)
		case messageTooLarge(err):
			return Outcome{}, tooLarge(req, opts)
		case err != nil:
			return Outcome{}, err
		}
		switch event := msg.GetEvent().(type) {
		case *toolv1.CallToolResponse_Progress:
			if opts.OnProgress != nil && !isFirstMessage(event.Progress) {
				opts.OnProgress(event.Progress)
			}
		case *toolv1.CallToolResponse_Content:
			if content.Len()+len(event.Content.GetData()) > opts.MaxBytes {
				return Outcome{}, tooLarge(req, opts)
			}
			content.WriteString(event.Content.GetData())
		case *toolv1.CallToolResponse_Result:
			if content.Len()+len(event.Result.GetContentJson()) > opts.MaxBytes {
				return Outcome{}, tooLarge(req, opts)
			}
			content.WriteString(event.Result.GetContentJson())
			letEnd(stream, cancel)
			return assemble(req, content.String(), event.Result)
		}
	}
}

// withoutResult is why a stream ended well and without a result. A provider that
// the deadline told to stop may say so by just stopping, and be heard before our
// own timer.
func withoutResult(ctx context.Context, req *toolv1.CallToolRequest) error {
	if at, ok := ctx.Deadline(); ok && !time.Now().Before(at) {
		return status.FromContextError(context.DeadlineExceeded).Err()
	}
	if err := ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	return fmt.Errorf("tool %s: %w", req.GetName(), ErrNoResult)
}

// letEnd gives the provider a moment to close its stream, so that a call that
// went well ends as one in traces and metrics. What it still sends is not looked
// at.
func letEnd(stream grpc.ServerStreamingClient[toolv1.CallToolResponse], cancel context.CancelFunc) {
	late := time.AfterFunc(endTime, cancel)
	defer late.Stop()
	_, _ = stream.Recv() // io.EOF as a rule; the result is there in any case
}

func assemble(req *toolv1.CallToolRequest, content string, result *toolv1.Result) (Outcome, error) {
	if !json.Valid([]byte(content)) {
		return Outcome{}, fmt.Errorf("tool %s: %w: %s", req.GetName(), ErrBadContent, strconv.Quote(clip(content)))
	}
	cost := result.GetCostUsd()
	if math.IsNaN(cost) || math.IsInf(cost, 0) || cost < 0 {
		cost = 0
	}
	return Outcome{ContentJSON: content, IsError: result.GetIsError(), Origins: result.GetOrigins(), CostUSD: cost}, nil
}

func tooLarge(req *toolv1.CallToolRequest, opts InvokeOptions) error {
	return fmt.Errorf("tool %s: %w of %d bytes", req.GetName(), ErrTooLarge, opts.MaxBytes)
}

// messageTooLarge recognises the error that our own side of gRPC makes of a
// message beyond MaxCallRecvMsgSize. It has no type, only these words.
func messageTooLarge(err error) bool {
	return status.Code(err) == codes.ResourceExhausted && strings.Contains(err.Error(), "larger than max")
}

// isFirstMessage recognises the empty progress that opens a stream.
func isFirstMessage(p *toolv1.Progress) bool {
	return p.GetMessage() == "" && p.GetDone() == 0 && p.GetTotal() == 0
}

// WithConversation tells the provider for which conversation a call is made.
func WithConversation(ctx context.Context, id string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, MetadataConversation, id)
}

// WithNotAfter sets the end of the lease under which a call is made: a provider
// built with toolkit refuses to start it later.
func WithNotAfter(ctx context.Context, leaseEnd time.Time) context.Context {
	return metadata.AppendToOutgoingContext(ctx, MetadataNotAfter, strconv.FormatInt(leaseEnd.UnixMilli(), 10))
}
