package pause

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestFor(t *testing.T) {
	why := errors.New("enough")
	for _, tc := range []struct {
		name   string
		ends   time.Duration // of the context; 0: never
		want   error
		lasted time.Duration
	}{
		{"a wait that nothing ends is whole", 0, nil, time.Minute},
		{"one that its context ends is shorter, and says why", time.Second, why, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, end := context.WithCancelCause(t.Context())
			defer end(nil)
			if tc.ends > 0 {
				time.AfterFunc(tc.ends, func() { end(why) })
			}
			begun := time.Now()
			if err := For(ctx, time.Minute); !errors.Is(err, tc.want) || time.Since(begun) != tc.lasted {
				t.Errorf("%s: %v after %s", tc.name, err, time.Since(begun))
			}
		})
	}
}
