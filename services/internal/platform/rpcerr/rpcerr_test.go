package rpcerr_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

func find[T any](t *testing.T, s *status.Status) T {
	t.Helper()
	for _, d := range s.Details() {
		if m, ok := d.(T); ok {
			return m
		}
	}
	var none T
	t.Fatalf("status %v has no %T", s, none)
	return none
}

func TestStatusCarriesEveryDetail(t *testing.T) {
	err := rpcerr.New(codes.ResourceExhausted, "RATE_LIMITED", "%d calls a minute are allowed", 10).
		WithRetry(1500*time.Millisecond).
		WithMeta("limit", "10").
		WithField("query", "is too long").
		WithField("urls[3]", "is not http")
	s := err.GRPCStatus()

	if s.Code() != codes.ResourceExhausted || s.Message() != "10 calls a minute are allowed" {
		t.Errorf("status = %v %q", s.Code(), s.Message())
	}
	info := find[*errdetails.ErrorInfo](t, s)
	if info.Reason != "RATE_LIMITED" || info.Domain != "nanoclaw" || info.Metadata["limit"] != "10" {
		t.Errorf("ErrorInfo = %v", info)
	}
	if d := find[*errdetails.RetryInfo](t, s).RetryDelay.AsDuration(); d != 1500*time.Millisecond {
		t.Errorf("retry delay = %v", d)
	}
	bad := find[*errdetails.BadRequest](t, s).FieldViolations
	if len(bad) != 2 || bad[0].Field != "query" || bad[1].Field != "urls[3]" || bad[1].Description != "is not http" {
		t.Errorf("violations = %v", bad)
	}
}

func TestFrom(t *testing.T) {
	secret := errors.New("dial tcp 10.1.2.3: password=hunter2")
	remote := status.Error(codes.Unavailable, "search is restarting")
	base := rpcerr.New(codes.NotFound, "RUN_NOT_FOUND", "run 7 does not exist")
	for _, tc := range []struct {
		name    string
		err     error
		code    codes.Code
		reason  string
		message string
	}{
		{"nil is OK", nil, codes.OK, "", ""},
		{"a shaped error keeps code, reason and words", base, codes.NotFound, "RUN_NOT_FOUND", "run 7 does not exist"},
		{"wrapping adds nothing for the caller", fmt.Errorf("load: %w", fmt.Errorf("row: %w", base)), codes.NotFound, "RUN_NOT_FOUND", "run 7 does not exist"},
		{"a joined error is found", errors.Join(secret, base), codes.NotFound, "RUN_NOT_FOUND", "run 7 does not exist"},
		{"a cause stays inside", base.WithCause(secret), codes.NotFound, "RUN_NOT_FOUND", "run 7 does not exist"},
		{"a shaped error wins over its context cause", base.WithCause(context.Canceled), codes.NotFound, "RUN_NOT_FOUND", "run 7 does not exist"},
		{"a status from another service is unchanged", remote, codes.Unavailable, "", "search is restarting"},
		{"and unchanged when wrapped", fmt.Errorf("search: %w", remote), codes.Unavailable, "", "search is restarting"},
		{"a passed deadline", fmt.Errorf("read: %w", context.DeadlineExceeded), codes.DeadlineExceeded, "DEADLINE_EXCEEDED", "the deadline passed before the work was done"},
		{"a cancelled call", fmt.Errorf("read: %w", context.Canceled), codes.Canceled, "CANCELLED", "the call was cancelled"},
		{"an unshaped error gives nothing away", fmt.Errorf("open: %w", secret), codes.Internal, "INTERNAL", "something went wrong on our side; the logs have the cause under this trace id"},
		{"OK is no error code", rpcerr.New(codes.OK, "ODD", "odd"), codes.Internal, "ODD", "odd"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := rpcerr.From(tc.err)
			if s.Code() != tc.code || s.Message() != tc.message {
				t.Errorf("From = %v %q, want %v %q", s.Code(), s.Message(), tc.code, tc.message)
			}
			if got := rpcerr.StatusReason(s); got != tc.reason {
				t.Errorf("StatusReason = %q, want %q", got, tc.reason)
			}
			if got := rpcerr.Reason(tc.err); got != tc.reason {
				t.Errorf("Reason = %q, want %q", got, tc.reason)
			}
			if strings.Contains(s.Proto().String(), "hunter2") {
				t.Errorf("the status leaks the inner error: %v", s.Proto())
			}
		})
	}
}

func TestReasonAndRetryComeBackFromTheWire(t *testing.T) {
	sent := rpcerr.New(codes.ResourceExhausted, "QUEUE_FULL", "20 runs wait").WithRetry(3 * time.Second)
	raw, err := proto.Marshal(sent.GRPCStatus().Proto())
	if err != nil {
		t.Fatal(err)
	}
	p := sent.GRPCStatus().Proto()
	if err := proto.Unmarshal(raw, p); err != nil {
		t.Fatal(err)
	}
	received := fmt.Errorf("orchestrator: %w", status.FromProto(p).Err())
	if got := rpcerr.Reason(received); got != "QUEUE_FULL" {
		t.Errorf("Reason = %q", got)
	}
	if d, ok := rpcerr.RetryDelay(received); !ok || d != 3*time.Second {
		t.Errorf("RetryDelay = %v, %v", d, ok)
	}
	if _, ok := rpcerr.RetryDelay(errors.New("x")); ok {
		t.Error("an error without RetryInfo must not have a delay")
	}
	if _, ok := rpcerr.RetryDelay(nil); ok {
		t.Error("nil must not have a delay")
	}
}

func TestWithMethodsLeaveTheBaseAlone(t *testing.T) {
	base := rpcerr.New(codes.Aborted, "FENCED", "the lease is gone").WithField("a", "first").WithMeta("k", "1")
	left := base.WithField("b", "left").WithMeta("k", "2")
	right := base.WithField("c", "right")
	if n := len(find[*errdetails.BadRequest](t, base.GRPCStatus()).FieldViolations); n != 1 {
		t.Errorf("base has %d violations, want 1", n)
	}
	if f := find[*errdetails.BadRequest](t, left.GRPCStatus()).FieldViolations[1].Field; f != "b" {
		t.Errorf("left's second field = %q, want b (slices must not be shared)", f)
	}
	if v := find[*errdetails.ErrorInfo](t, base.GRPCStatus()).Metadata["k"]; v != "1" {
		t.Errorf("base meta = %q, want 1", v)
	}
	if !errors.Is(fmt.Errorf("commit: %w", right), base) {
		t.Error("an error grown from base must match it")
	}
	if errors.Is(right, rpcerr.New(codes.Aborted, "OTHER", "the lease is gone")) {
		t.Error("another reason must not match")
	}
}

func TestCauseIsForLogsOnly(t *testing.T) {
	err := rpcerr.NotFound("file", "a.txt").WithCause(fs.ErrNotExist)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error("errors.Is must see the cause")
	}
	if got, want := err.Error(), `file "a.txt" does not exist: file does not exist`; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	if e, ok := rpcerr.As(fmt.Errorf("read: %w", err)); !ok || e.Code() != codes.NotFound || e.Reason() != "NOT_FOUND" || e.Message() != `file "a.txt" does not exist` {
		t.Errorf("As = %v, %v", e, ok)
	}
}

func TestHugeAndBrokenTextStillTravels(t *testing.T) {
	err := rpcerr.InvalidArgument("query", strings.Repeat("é", 5000)).WithMeta("got", "\xff\xfe")
	for i := range 100 {
		err = err.WithField(fmt.Sprintf("urls[%d]", i), "is not http")
	}
	s := err.GRPCStatus()
	raw, marshalErr := proto.Marshal(s.Proto())
	if marshalErr != nil {
		t.Fatal(marshalErr)
	}
	if len(raw) > 6*1024 {
		t.Errorf("a status of %d bytes does not fit into 8 KiB of trailers", len(raw))
	}
	if !utf8.ValidString(s.Message()) || !strings.HasSuffix(s.Message(), "…") {
		t.Errorf("message must be valid UTF-8 and marked as cut: %q", s.Message()[len(s.Message())-10:])
	}
	if bad := find[*errdetails.BadRequest](t, s).FieldViolations; len(bad) != 8 || bad[0].Field != "query" {
		t.Errorf("violations = %d, want the first 8", len(bad))
	}
}
