package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/account"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
)

// noticeFailover is the kind of the notice that another model is asked.
const noticeFailover = "failover"

// order are the models that may answer the next round, each once: that of the
// run, those that are configured to answer in its place, and those for them. Those
// that could not answer a round before, for a reason that no breaker remembers,
// come last.
func (t *turn) order() []Model {
	chain := []Model{t.first}
	for i := 0; i < len(chain); i++ {
		for _, id := range chain[i].Fallback {
			m, ok := t.Models.Model(id)
			if ok && !slices.ContainsFunc(chain, func(other Model) bool { return other.ID == id }) {
				chain = append(chain, m)
			}
		}
	}
	slices.SortStableFunc(chain, func(a, b Model) int {
		switch {
		case t.failed[a.ID] == t.failed[b.ID]:
			return 0
		case t.failed[b.ID]:
			return -1
		}
		return 1
	})
	return chain
}

// instead is the next of the models that are left which may do better than one
// that failed and whose account may be asked.
func (t *turn) instead(m Model, left []Model, failed error) (next Model, rest []Model, ok bool) {
	for i, n := range left {
		if mayDoBetter(failed, m, n) && !n.Account.Open() {
			return n, left[i+1:], true
		}
	}
	return Model{}, nil, false
}

// mayDoBetter reports whether another model may answer what one could not. What a
// provider refuses for what it says, or for how it is asked, another one is not
// asked: that would go round a filter, or hide a fault of ours.
func mayDoBetter(failed error, m, other Model) bool {
	e, ok := errors.AsType[*provider.Error](failed)
	if !ok {
		empty, ok := errors.AsType[*runError](failed)
		return ok && empty.reason == reasonEmpty
	}
	switch e.Kind {
	case provider.KindAuth, provider.KindNotFound, provider.KindQuota, provider.KindRateLimited, provider.KindOverloaded,
		provider.KindServer, provider.KindTimeout, provider.KindTransport, provider.KindTruncated, provider.KindMalformed:
		return true
	case provider.KindContextLength:
		return other.ContextWindow > m.ContextWindow
	}
	return false
}

// left remembers that a model could not answer. Where its breaker does that, it is
// asked again as soon as the breaker lets it.
func (t *turn) left(m Model) {
	if !m.Account.Open() {
		t.failed[m.ID] = true
	}
}

// failover tells that another model is asked, and why. A run that is answered by
// that model already is told once.
func (t *turn) failover(from, to Model, round int, failed error) []*pb.RunEvent {
	if errors.Is(failed, account.ErrOpen) && t.model.ID == to.ID {
		return nil
	}
	return []*pb.RunEvent{notice(noticeFailover, round, fmt.Sprintf("%s does not answer: %s Asking %s instead.", from.ID, sentence(failed), to.ID))}
}

// returning tells that the round is not asked of the model that answered the one
// before.
func (t *turn) returning(m Model, round int) []*pb.RunEvent {
	if m.ID == t.model.ID || m.Account.Open() {
		return nil
	}
	return []*pb.RunEvent{notice(noticeFailover, round, fmt.Sprintf("%s may be asked again and takes over from %s.", m.ID, t.model.ID))}
}

func retrying(round int, failed error, wait time.Duration) *pb.RunEvent {
	return notice("retry", round, fmt.Sprintf("%s Trying again in %s.", sentence(failed), wait.Round(100*time.Millisecond)))
}

// sentence is what an error says, with its full stop.
func sentence(err error) string { return strings.TrimRight(err.Error(), ". ") + "." }

// patience is how often one model is asked for a round.
type patience struct {
	cfg    Config
	made   int           // calls that failed
	waited time.Duration // until the account may be asked again
}

// again says whether a model that failed is asked once more, and when.
func (p *patience) again(failed error) (wait time.Duration, ok bool) {
	e, ofProvider := errors.AsType[*provider.Error](failed)
	if ofProvider && errors.Is(failed, account.ErrOpen) { // it was not asked at all
		p.waited += e.RetryAfter
		return e.RetryAfter, e.Retryable() && p.waited <= p.cfg.MaxRetryWait
	}
	attempt := p.made
	if p.made++; attempt >= p.cfg.ModelRetries {
		return 0, false
	}
	wait = p.cfg.RetryWait << attempt
	wait = wait/2 + rand.N(wait/2+1)
	if ofProvider {
		if e.RetryAfter > p.cfg.MaxRetryWait {
			return 0, false // nobody waits that long
		}
		return max(wait, e.RetryAfter), e.Retryable()
	}
	if e, ok := errors.AsType[*runError](failed); ok {
		return wait, e.retryable && attempt == 0
	}
	return 0, false
}
