package toolkit

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
)

type callStream = grpc.ServerStreamingServer[toolv1.CallToolResponse]

// recall is the outcome of a call whose key is known already.
func recall(known Record, hash string) outcome {
	switch {
	case known.ArgsHash != hash:
		return outcome{status: keyReused()}
	case known.State == StateFinished && known.Result != nil:
		return outcome{result: known.Result}
	case known.State == StateRunning:
		return outcome{status: newStatus(codes.Unavailable, ReasonCallRunsElsewhere,
			"another process runs this call; ask GetCall for its end")}
	}
	return outcome{status: newStatus(codes.Aborted, ReasonCallLost,
		"this call was started and its end is not known; it is not started again")}
}

func keyReused() *status.Status {
	return newStatus(codes.Aborted, ReasonKeyReused, "this effect key was used with other arguments")
}

func (p *Provider) keyStoreFailed(ctx context.Context, key Key, err error) *status.Status {
	if errors.Is(err, ErrKeyStoreFull) {
		return newStatus(codes.ResourceExhausted, ReasonKeyStore, "no more effect keys can be remembered; try again later")
	}
	p.cfg.Logger.ErrorContext(ctx, "key store failed", "tool", key.Tool, "effect_key", key.EffectKey, "error", err)
	return newStatus(codes.Unavailable, ReasonKeyStore, "effect keys cannot be recorded now; nothing was done")
}

// watch sends a call's progress, the latest and not too often, and its outcome
// when it ends.
func watch(stream callStream, r *running) error {
	// A stream's first message goes out at once, before there is any progress.
	if err := sendProgress(stream, &toolv1.Progress{}); err != nil {
		return err
	}
	var sent *toolv1.Progress
	for {
		latest, changed := r.latest()
		var pause <-chan time.Time
		if latest != sent {
			if err := sendProgress(stream, latest); err != nil {
				return err
			}
			sent, changed, pause = latest, nil, time.After(progressInterval)
		}
		select {
		case <-r.done:
			return send(stream, r.outcome)
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		case <-changed:
		case <-pause:
		}
	}
}

func sendProgress(stream callStream, p *toolv1.Progress) error {
	return stream.Send(&toolv1.CallToolResponse{Event: &toolv1.CallToolResponse_Progress{Progress: p}})
}

// send ends a stream with an outcome: a status, or the result, in pieces when it
// is long.
func send(stream callStream, o outcome) error {
	if o.status != nil {
		return o.status.Err()
	}
	result := o.result.proto()
	if len(result.ContentJson) > pieceBytes {
		for piece := range pieces(result.ContentJson) {
			event := &toolv1.CallToolResponse_Content{Content: &toolv1.Content{Data: piece}}
			if err := stream.Send(&toolv1.CallToolResponse{Event: event}); err != nil {
				return err
			}
		}
		result.ContentJson = ""
	}
	return stream.Send(&toolv1.CallToolResponse{Event: &toolv1.CallToolResponse_Result{Result: result}})
}

// pieces cuts a text at character boundaries: a proto string must be UTF-8.
func pieces(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for text != "" {
			n := min(pieceBytes, len(text))
			for n < len(text) && !utf8.RuneStart(text[n]) {
				n--
			}
			if !yield(text[:n]) {
				return
			}
			text = text[n:]
		}
	}
}

func (r *StoredResult) proto() *toolv1.Result {
	return &toolv1.Result{ContentJson: r.ContentJSON, IsError: r.IsError, Origins: r.Origins, CostUsd: r.CostUSD}
}

// maxProgressBytes caps the words of one progress message.
const maxProgressBytes = 512

func validText(s string) string {
	return clipTo(strings.ToValidUTF8(s, "\uFFFD"), maxProgressBytes)
}
