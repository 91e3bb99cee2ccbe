package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/nanoclaw/nanoclaw/services/fetcher"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
)

// Exit codes. Scripts rely on them: they never change their meaning.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitDenied      = 4
	exitPartial     = 5 // some of many things failed, or a part that was needed is not there
	exitTimeout     = 6
	exitInterrupted = 130
)

// errInterrupted ends a command that a person stopped with Ctrl+C.
var errInterrupted = errors.New("interrupted")

// exitError is an error with an exit code of its own. Without an inner error
// everything has been said already and nothing is printed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usagef is a mistake in the command line.
func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// exitCode maps an error to the code that scripts read.
func exitCode(err error) int {
	var own *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &own):
		return own.code
	case errors.Is(err, suite.ErrNoTarget):
		return exitUsage
	case errors.Is(err, errInterrupted), errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, context.DeadlineExceeded):
		return exitTimeout
	}
	s, ok := status.FromError(err)
	if !ok {
		return exitFailure
	}
	switch rpcerr.Reason(err) { // the url is no mistake of the command line
	case fetcher.ReasonPrivateAddress:
		return exitDenied
	case fetcher.ReasonHostNotFound:
		return exitNotFound
	case fetcher.ReasonTLSFailed, fetcher.ReasonBadRedirect, fetcher.ReasonTooLarge, fetcher.ReasonBadEncoding,
		fetcher.ReasonBadResponse, fetcher.ReasonUnsupportedType, fetcher.ReasonEncrypted, fetcher.ReasonDamaged, fetcher.ReasonEmpty,
		fetcher.ReasonDocumentTooLarge:
		return exitFailure
	case reasonNoSandbox, reasonNoLanguage:
		return exitPartial
	}
	switch s.Code() {
	case codes.InvalidArgument, codes.OutOfRange:
		return exitUsage
	case codes.NotFound:
		return exitNotFound
	case codes.PermissionDenied, codes.Unauthenticated:
		return exitDenied
	case codes.DeadlineExceeded:
		return exitTimeout
	case codes.Canceled:
		return exitInterrupted
	}
	return exitFailure
}

// report prints an error once, for a person.
func report(w io.Writer, err error) {
	var own *exitError
	if err == nil || errors.As(err, &own) && own.err == nil {
		return
	}
	for line := range strings.SplitSeq(explain(err), "\n") {
		_, _ = fmt.Fprintln(w, "nanoclaw: "+line)
	}
}

// explain gives the words for an error, without the wrapping that programs add.
func explain(err error) string {
	if errors.Is(err, errInterrupted) || errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	if _, ok := status.FromError(err); ok {
		return explainStatus(rpcerr.From(err))
	}
	return err.Error()
}

// explainStatus adds what the details of a status know beyond its message.
func explainStatus(s *status.Status) string {
	text := s.Message()
	for _, detail := range s.Details() {
		switch d := detail.(type) {
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				if !strings.Contains(text, v.GetDescription()) {
					text = strings.TrimSuffix(text, ".") + "; " + v.GetField() + ": " + v.GetDescription()
				}
			}
		case *errdetails.RetryInfo:
			if wait := d.GetRetryDelay().AsDuration(); wait > 0 {
				text = tryAgain(text, wait)
			}
		}
	}
	return text
}

// tryAgain adds after which time to try again, to words that may say already that
// one should.
func tryAgain(text string, wait time.Duration) string {
	wait = (wait + time.Second - 1).Truncate(time.Second)
	for _, said := range []string{"Try again.", "Try again in a moment."} {
		if rest, ok := strings.CutSuffix(text, said); ok {
			return rest + fmt.Sprintf("Try again in %s.", wait)
		}
	}
	if strings.HasSuffix(text, ".") {
		return text + fmt.Sprintf(" Try again in %s.", wait)
	}
	return text + fmt.Sprintf("; try again in %s", wait)
}

// pathReason is the reason of a file error without its path, which the caller
// names better.
func pathReason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
