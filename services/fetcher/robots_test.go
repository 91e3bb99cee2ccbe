package fetcher

import (
	"context"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

func TestCheckRobotsAnswersForEveryAddressOfAnOrigin(t *testing.T) {
	var asked atomic.Int64
	var agent atomic.Value
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		agent.Store(r.UserAgent())
		_, _ = w.Write([]byte("User-agent: nanoclaw\nDisallow: /private\nCrawl-delay: 1.5\n"))
	})
	req := &fetcherv1.CheckRobotsRequest{Urls: []string{s.url + "/a", s.url + "/private/x", s.url + "/robots.txt", s.url}}
	for range 2 {
		got, err := s.fetcher.CheckRobots(context.Background(), req)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.GetAllowed(), []bool{true, false, true, true}) || got.GetState() != "rules" || got.GetCrawlDelayMs() != 1500 || got.GetReason() != "" {
			t.Errorf("got %v", got)
		}
		if v := got.GetValidMs(); v <= 0 || v > 24*60*60*1000 {
			t.Errorf("valid for %d ms", v)
		}
	}
	if asked.Load() != 1 || agent.Load() != DefaultConfig().UserAgent {
		t.Errorf("asked %d times by %v", asked.Load(), agent.Load())
	}
}

func TestAnOriginThatCannotBeAskedAllowsNothing(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	got, err := s.fetcher.CheckRobots(context.Background(), &fetcherv1.CheckRobotsRequest{Urls: []string{s.url + "/a"}})
	if err != nil {
		t.Fatal(err)
	}
	if got.GetState() != "unreachable" || got.GetAllowed()[0] || got.GetReason() == "" || got.GetValidMs() > 10_000 {
		t.Errorf("got %v", got)
	}
}

func TestCheckRobotsRefusesWhatItCannotAnswer(t *testing.T) {
	s := newSite(t, serveBody("text/plain", ""))
	for _, tt := range []struct {
		name   string
		urls   []string
		reason string
	}{
		{"no address", nil, "INVALID_ARGUMENT"},
		{"two origins", []string{s.url + "/a", "http://example.com/a"}, ReasonDifferentOrigins},
		{"two schemes", []string{"http://example.com/", "https://example.com/"}, ReasonDifferentOrigins},
		{"a private address", []string{"http://10.0.0.1/"}, ReasonPrivateAddress},
		{"no http", []string{s.url, "ftp://example.com/"}, ReasonURLRefused},
		{"no address at all", []string{"x"}, ReasonURLRefused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := s.fetcher.CheckRobots(context.Background(), &fetcherv1.CheckRobotsRequest{Urls: tt.urls})
			if status.Code(err) != codes.InvalidArgument || rpcerr.Reason(err) != tt.reason {
				t.Errorf("%v (%s), want %s", err, rpcerr.Reason(err), tt.reason)
			}
		})
	}
}
