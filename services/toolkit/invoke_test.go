package toolkit

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
)

// stranger is a provider that keeps to nothing.
type stranger struct {
	toolv1.UnimplementedToolProviderServiceServer
	call func(callStream) error
}

func (s stranger) CallTool(_ *toolv1.CallToolRequest, stream callStream) error { return s.call(stream) }

func content(text string) *toolv1.CallToolResponse {
	return &toolv1.CallToolResponse{Event: &toolv1.CallToolResponse_Content{Content: &toolv1.Content{Data: text}}}
}

func result(text string) *toolv1.CallToolResponse {
	return &toolv1.CallToolResponse{Event: &toolv1.CallToolResponse_Result{Result: &toolv1.Result{ContentJson: text}}}
}

func sends(messages ...*toolv1.CallToolResponse) func(callStream) error {
	return func(stream callStream) error {
		for _, msg := range messages {
			if err := stream.Send(msg); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestInvokeTrustsNoProvider(t *testing.T) {
	cancelled := make(chan struct{})
	for _, c := range []struct {
		name string
		call func(callStream) error
		want string
		err  error
		code codes.Code
	}{
		{name: "pieces are put together", call: sends(content(`{"a":`), content(`"b`), result(`"}`)), want: `{"a":"b"}`},
		{name: "what follows the result is not read", call: sends(result(`1`), content(`2`), result(`3`)), want: `1`},
		{name: "an end without a result", call: sends(content(`1`)), err: ErrNoResult},
		{name: "no message at all", call: sends(), err: ErrNoResult},
		{name: "content that is no JSON", call: sends(result(`{"a":`)), err: ErrBadContent},
		{name: "empty content", call: sends(result(``)), err: ErrBadContent},
		{name: "an empty message", call: sends(&toolv1.CallToolResponse{}, result(`1`)), want: `1`},
		{name: "one piece too many", call: sends(content(strings.Repeat("1", 900)), content(strings.Repeat("1", 200))), err: ErrTooLarge},
		{name: "a last piece that is too long", call: sends(content(strings.Repeat("1", 900)), result(strings.Repeat("1", 200))), err: ErrTooLarge},
		{name: "one message of 8 MiB", call: sends(content(strings.Repeat("1", 8<<20))), err: ErrTooLarge},
		{name: "content without end", call: func(stream callStream) error {
			defer close(cancelled)
			for {
				if err := stream.Send(content(strings.Repeat("1", 100))); err != nil {
					return err
				}
			}
		}, err: ErrTooLarge},
		{name: "its status as it is", call: func(callStream) error { return status.Error(codes.ResourceExhausted, "slow down") }, code: codes.ResourceExhausted},
		{name: "its plain error", call: func(callStream) error { return errors.New("plain") }, code: codes.Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Invoke(t.Context(), dial(t, stranger{call: c.call}), request("{}", ""), InvokeOptions{MaxBytes: 1000})
			switch {
			case c.err != nil:
				if !errors.Is(err, c.err) {
					t.Errorf("got %v, want %v", err, c.err)
				}
			case status.Code(err) != c.code || got.ContentJSON != c.want:
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	<-cancelled // the endless stream was cancelled
}

func TestInvokeEndsWithItsContext(t *testing.T) {
	hangs := stranger{call: func(stream callStream) error { <-stream.Context().Done(); return nil }}
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	_, err := Invoke(ctx, dial(t, hangs), request("{}", ""), InvokeOptions{})
	if status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("got %v", err)
	}
}

func TestInvokeTellsProgressAndDropsAmountsThatAreNone(t *testing.T) {
	progress := &toolv1.CallToolResponse{Event: &toolv1.CallToolResponse_Progress{Progress: &toolv1.Progress{Message: "half", Done: 1, Total: 2}}}
	first := &toolv1.CallToolResponse{Event: &toolv1.CallToolResponse_Progress{Progress: &toolv1.Progress{}}}
	for _, cost := range []float64{math.NaN(), math.Inf(1), -1} {
		end := &toolv1.CallToolResponse{Event: &toolv1.CallToolResponse_Result{Result: &toolv1.Result{ContentJson: "1", CostUsd: cost}}}
		var seen []string
		got, err := Invoke(t.Context(), dial(t, stranger{call: sends(first, progress, end)}), request("{}", ""),
			InvokeOptions{OnProgress: func(p *toolv1.Progress) { seen = append(seen, p.GetMessage()) }})
		if err != nil || got.CostUSD != 0 || strings.Join(seen, "|") != "half" {
			t.Errorf("cost %v: got %+v, %v, progress %q", cost, got, err, seen)
		}
	}
}
