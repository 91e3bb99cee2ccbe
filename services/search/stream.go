package search

import (
	"sync"

	"google.golang.org/grpc"

	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/search/internal/fusion"
)

// SearchStream implements SearchService.
func (s *Service) SearchStream(req *searchv1.SearchRequest, to grpc.ServerStreamingServer[searchv1.SearchEvent]) error {
	ctx := to.Context()
	p, err := auth.Require(ctx)
	if err != nil {
		return err
	}
	w := &streamed{to: to}
	a, err := s.answer(ctx, p, s.question(req), w)
	if err != nil {
		return err
	}
	w.send(&searchv1.SearchEvent{Event: &searchv1.SearchEvent_Final{Final: &searchv1.SearchFinal{Response: a.proto()}}})
	return w.err
}

// streamed sends what a search does to its caller.
type streamed struct {
	mu  sync.Mutex
	to  grpc.ServerStreamingServer[searchv1.SearchEvent]
	err error // of the first message that could not be sent
}

// send sends a message. When the caller is gone the search ends by its context.
func (w *streamed) send(m *searchv1.SearchEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = w.to.Send(m)
	}
}

func (w *streamed) started(mode string, plan []string) {
	w.send(&searchv1.SearchEvent{Event: &searchv1.SearchEvent_Started{Started: &searchv1.SearchStarted{Mode: mode, Plan: plan}}})
}

func (w *streamed) asking(provider, query string) {
	w.send(&searchv1.SearchEvent{Event: &searchv1.SearchEvent_QueryUpdate{QueryUpdate: &searchv1.QueryUpdate{Provider: provider, Query: query}}})
}

func (w *streamed) received(a attempt) {
	got := &searchv1.SearchResultsReceived{Provider: a.provider, Count: int32(len(a.page.Results))}
	for i, r := range a.page.Results {
		got.Results = append(got.Results, protoResult(fusion.Result{
			Result: r, Sources: []fusion.Source{{Provider: a.provider, Family: a.family, Rank: i + 1}},
		}))
	}
	w.send(&searchv1.SearchEvent{Event: &searchv1.SearchEvent_SearchResultsReceived{SearchResultsReceived: got}})
}

func (w *streamed) finished(a attempt) {
	w.send(&searchv1.SearchEvent{Event: &searchv1.SearchEvent_AttemptFinished{AttemptFinished: &searchv1.AttemptFinished{Attempt: a.proto()}}})
}
