package rpc

import (
	"context"
	"time"
)

// timeouts says how long a unary call may take when its caller set no deadline.
type timeouts struct {
	unary    time.Duration
	byMethod map[string]time.Duration
}

// bound is ctx with a deadline, if it needs one. cancel is never nil.
func (t timeouts) bound(ctx context.Context, fullMethod string) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return ctx, func() {}
	}
	d, special := t.byMethod[fullMethod]
	if !special {
		d = t.unary
	}
	if d == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, d)
}

func (t timeouts) step(ctx context.Context, m method) (context.Context, func(error) error, error) {
	if m.stream {
		return ctx, nil, nil
	}
	ctx, cancel := t.bound(ctx, m.full)
	return ctx, func(err error) error { cancel(); return err }, nil
}
