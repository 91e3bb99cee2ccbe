package httpfetch

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"
)

func TestARedirectIsFollowedOnlyWhenTheCallerAgrees(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/a":
			http.Redirect(w, r, "/b", http.StatusFound)
		case "/b":
			http.Redirect(w, r, "/c", http.StatusFound)
		}
	})
	c := clientFor(t, testConfig(), s)
	errNo := errors.New("not there")
	for _, tt := range []struct{ name, refuse, kind string }{
		{"everywhere", "", ""},
		{"not to the second", "/c", string(KindHop)},
		{"not to the first", "/b", string(KindHop)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var asked []string
			got, err := c.Get(context.Background(), Request{URL: s.URL + "/a", Hop: func(_ context.Context, next *url.URL) error {
				asked = append(asked, next.Path)
				if next.Path == tt.refuse {
					return errNo
				}
				return nil
			}})
			if tt.kind == "" {
				if err != nil || got.FinalURL != s.URL+"/c" || len(asked) != 2 {
					t.Fatalf("%v, asked for %v", err, asked)
				}
				return
			}
			var e *Error
			if !errors.As(err, &e) || e.Kind != KindHop || e.Retryable || !errors.Is(err, errNo) || asked[len(asked)-1] != tt.refuse {
				t.Errorf("%v, asked for %v", err, asked)
			}
		})
	}
}

func TestTheTimeOfAHopIsNotTheServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, clock := startClock(t.Context(), 30*time.Second, true)
		defer clock.stop()
		hop := clock.paused(func(ctx context.Context, _ *url.URL) error {
			time.Sleep(time.Minute)
			return ctx.Err()
		})
		for range 2 {
			time.Sleep(10 * time.Second)
			if err := hop(ctx, nil); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(9 * time.Second)
		synctest.Wait()
		if ctx.Err() != nil {
			t.Fatal("29 s of the server's time are too many")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !errors.Is(context.Cause(ctx), errTotalTimeout) {
			t.Errorf("after 30 s: %v", context.Cause(ctx))
		}
	})
}

func TestACallerMayLeaveDuringAHop(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/b", http.StatusFound) })
	ctx, leave := context.WithCancel(context.Background())
	_, err := clientFor(t, testConfig(), s).Get(ctx, Request{URL: s.URL, Hop: func(ctx context.Context, _ *url.URL) error {
		leave()
		<-ctx.Done()
		return ctx.Err()
	}})
	var e *Error
	if !errors.As(err, &e) || e.Kind != KindCancelled {
		t.Errorf("%v", err)
	}
}

func TestClientsThatShareConnectionsHaveTheirOwnLimits(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 100)) })
	c := clientFor(t, testConfig(), s)
	small := testConfig()
	small.MaxRawBytes = 10
	got, err := c.With(small).Get(context.Background(), Request{URL: s.URL})
	if err != nil || len(got.Body) != 10 || !got.Truncated || got.BrokeOff {
		t.Errorf("%v, %+v", err, got)
	}
	if got := mustGet(t, c, s.URL); len(got.Body) != 100 {
		t.Errorf("%d bytes", len(got.Body))
	}
}
