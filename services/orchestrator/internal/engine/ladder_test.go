package engine

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
)

func TestTheSecondMistakeWithAToolIsAnsweredWithItsSchema(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t, tool{name: "strictly", run: echo.run}, echo)
		wrong := `{"n":"many","text":"a"}`
		w.script = []reply{
			call("strictly "+wrong, "strictly "+wrong), call(`echo {"n":"many"}`), call(`strictly {"n":"few"}`), call(`strictly {"n":"none"}`), say("I give up."),
		}
		r := w.engine("a").finish()
		if outcome(r) != "completed breaker" {
			t.Errorf("outcome = %s", outcome(r))
		}
		for i, want := range []bool{false, false, false, true, true} {
			c := w.toolCalls(r)[i]
			schema := `"simplified_schema":` + string(provider.SimplifySchema(w.tools.Snapshot().Get(c.Name).Parameters))
			if got := strings.Contains(c.ModelText, schema); got != want || c.Reason != "BAD_ARGUMENTS" || !strings.Contains(c.ModelText, "/n") {
				t.Errorf("call %d of %s: the schema is told: %v, want %v: %s", i, c.Name, got, want, c.ModelText)
			}
		}
	})
}

func TestTheLadderIsTheSameAfterATakeover(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t, echo)
		var first *engine
		w.script = []reply{
			call(`echo {"n":"many"}`),
			tries(func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
				first.crash()
				return call(`echo {"n":"few"}`)(ctx, req, yield)
			}, call(`echo {"n":"few"}`)),
			say("Done."),
		}
		first = w.engine("a")
		r := first.ask("")
		synctest.Wait()
		r = w.recovered("b").ended(r)
		calls := w.toolCalls(r)
		if len(calls) != 2 || strings.Contains(calls[0].ModelText, simplified) || !strings.Contains(calls[1].ModelText, simplified) {
			t.Errorf("%+v", calls)
		}
	})
}
