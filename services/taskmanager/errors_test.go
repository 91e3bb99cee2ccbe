package taskmanager

import (
	"errors"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/frontier"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/task"
)

func TestWhatWorkersAndUsersAreTold(t *testing.T) {
	for _, tc := range []struct {
		err    error
		code   codes.Code
		reason string
		again  bool
	}{
		{task.ErrNotFound, codes.NotFound, "NOT_FOUND", false},
		{frontier.ErrLost, codes.Aborted, ReasonLeaseLost, false},
		{fmt.Errorf("write: %w", store.ErrUnavailable), codes.Unavailable, ReasonDatabase, true},
		{fmt.Errorf("write: %w", store.ErrUnknownCommit), codes.Unavailable, ReasonDatabase, true},
		{fmt.Errorf("write: %w", store.ErrDiskFull), codes.Unavailable, ReasonDiskFull, true},
		{errors.New("hush"), codes.Internal, rpcerr.ReasonInternal, false},
	} {
		err := shaped(tc.err, "task_x")
		wantError(t, err, tc.code, tc.reason)
		if _, again := rpcerr.RetryDelay(err); again != tc.again {
			t.Errorf("%v: told to come again: %v", tc.err, again)
		}
	}
	if shaped(nil, "") != nil {
		t.Error("nothing is an error")
	}
}
