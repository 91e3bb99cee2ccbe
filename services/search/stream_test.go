package search

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// recorder is a stream that keeps what it is sent.
type recorder struct {
	grpc.ServerStream
	ctx  context.Context
	mu   sync.Mutex
	sent []*searchv1.SearchEvent
	err  error // of every message
}

func (r *recorder) Context() context.Context { return r.ctx }

func (r *recorder) Send(m *searchv1.SearchEvent) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.sent = append(r.sent, m)
	}
	return r.err
}

// story is the events in a few words each.
func (r *recorder) story() string {
	var out []string
	for _, m := range r.sent {
		switch e := m.GetEvent().(type) {
		case *searchv1.SearchEvent_Started:
			out = append(out, "started "+e.Started.GetMode()+" "+strings.Join(e.Started.GetPlan(), "+"))
		case *searchv1.SearchEvent_QueryUpdate:
			out = append(out, "query_update "+e.QueryUpdate.GetProvider()+" "+e.QueryUpdate.GetQuery())
		case *searchv1.SearchEvent_SearchResultsReceived:
			got := e.SearchResultsReceived
			if int(got.GetCount()) != len(got.GetResults()) {
				out = append(out, "a wrong count")
			}
			out = append(out, "search_results_received "+got.GetProvider()+" "+found(&searchv1.SearchResponse{Results: got.GetResults()}))
		case *searchv1.SearchEvent_AttemptFinished:
			a := e.AttemptFinished.GetAttempt()
			out = append(out, "attempt_finished "+trail(&searchv1.SearchResponse{Attempts: []*searchv1.Attempt{a}}))
		case *searchv1.SearchEvent_Final:
			out = append(out, "final "+e.Final.GetResponse().GetOutcome())
		}
	}
	return strings.Join(out, "\n")
}

func TestASearchTellsWhatItDoes(t *testing.T) {
	cases := []struct {
		name   string
		change func(*searchv1.SearchRequest)
		before bool // the same was searched before
		want   string
	}{
		{"one after the other", nil, false, `started single bing+duckduckgo
query_update bing tea
attempt_finished bing=CHALLENGE
query_update duckduckgo tea
search_results_received duckduckgo tea
attempt_finished duckduckgo=OK
final OK`},
		{"from the cache, and past an open breaker", nil, true, `started single bing+duckduckgo
attempt_finished bing=CHALLENGE
search_results_received duckduckgo tea
attempt_finished duckduckgo=OK
final OK`},
		{"an engine that is passed over", func(r *searchv1.SearchRequest) {
			r.Providers, r.News, r.Freshness = []string{"duckduckgo", "brave_web"}, true, "day"
		}, false, `started single brave_web
attempt_finished duckduckgo=UNSUPPORTED_OPTION
query_update brave_web tea
search_results_received brave_web leaf
attempt_finished brave_web=OK
final OK`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, w, end := startInMemory(t, nil)
			defer end()
			w.set("bing", says(200, challengePage))
			w.set("duckduckgo", says(200, duckPage("tea", "https://tea.example/")))
			w.set("brave", says(200, `{"type":"news","results":[{"title":"tea","url":"https://leaf.example/","description":"About tea."}]}`))
			req := ask("tea")
			if c.change != nil {
				c.change(req)
			}
			if c.before {
				if _, err := s.Search(as(t, "bob"), req); err != nil {
					t.Fatal(err)
				}
			}
			to := &recorder{ctx: as(t, "ann")}
			if err := s.SearchStream(req, to); err != nil {
				t.Fatal(err)
			}
			if got := to.story(); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestEnginesThatAreAskedAtOnceAreToldOfAsTheyAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, end := startInMemory(t, nil)
		defer end()
		slow := bingPage("tea guide", "https://a.example/")
		w.set("bing", func(to http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second)
			says(200, slow)(to, r)
		})
		w.set("brave", braveAnswer("tea guide", addressesOf("b")))
		to := &recorder{ctx: as(t, "ann")}
		if err := s.SearchStream(fusedOf("bing", "brave_web"), to); err != nil {
			t.Fatal(err)
		}
		got := to.story()
		for _, order := range []string{"started fused bing+brave_web", "attempt_finished brave_web=OK", "search_results_received bing a", "final OK"} {
			_, rest, ok := strings.Cut(got, order)
			if !ok {
				t.Fatalf("%q is missing, or too early, in\n%s", order, to.story())
			}
			got = rest
		}
	})
}

func TestAStreamThatNobodyAnswersEndsWithTheErrorOfASearch(t *testing.T) {
	s, w, end := startInMemory(t, nil)
	defer end()
	w.set("bing", says(200, challengePage))
	w.set("duckduckgo", says(503, ""))
	to := &recorder{ctx: as(t, "ann")}
	if err := s.SearchStream(ask("tea"), to); rpcerr.Reason(err) != "CHALLENGE" || !strings.HasSuffix(to.story(), "attempt_finished duckduckgo=UPSTREAM_5XX") {
		t.Errorf("%v after\n%s", err, to.story())
	}
	if err := s.SearchStream(ask("t"), &recorder{ctx: as(t, "ann")}); rpcerr.From(err).Code() != codes.InvalidArgument {
		t.Errorf("a bad question: %v", err)
	}
	if err := s.SearchStream(ask("tea"), &recorder{ctx: t.Context()}); rpcerr.From(err).Code() != codes.Unauthenticated {
		t.Errorf("nobody in particular: %v", err)
	}
}

func TestAnEndedStreamEndsItsQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, end := startInMemory(t, nil)
		defer end()
		gone := make(chan string, 2)
		for _, name := range []string{"bing", "brave"} {
			w.set(name, func(to http.ResponseWriter, r *http.Request) {
				silent(to, r)
				gone <- name
			})
		}
		ctx, cancel := context.WithCancel(as(t, "ann"))
		ended := make(chan error, 1)
		go func() { ended <- s.SearchStream(fusedOf("bing", "brave_web"), &recorder{ctx: ctx}) }()
		time.Sleep(time.Second)
		cancel()
		if err := <-ended; rpcerr.From(err).Code() != codes.Canceled {
			t.Errorf("got %v", err)
		}
		<-gone
		<-gone
	})
}

func TestAStreamThatCannotBeWrittenIsAnError(t *testing.T) {
	s, w, end := startInMemory(t, nil)
	defer end()
	w.set("bing", says(200, nothingPage))
	if err := s.SearchStream(ask("tea"), &recorder{ctx: as(t, "ann"), err: io.ErrClosedPipe}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}
