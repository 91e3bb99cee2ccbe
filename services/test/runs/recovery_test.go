package runs

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

func TestKill9InTheMiddleOfWhatCannotBeRepeated(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	t.Run("an opaque call is not made again, and its outcome is unknown", func(t *testing.T) {
		s := h.killedIn(t, moment{say: "opaque", hold: "/"})
		h.start()
		s.untilEnd(t)
		log := checkRun(t, h.p.Client, s.conversation, s.run.RunID, &s.run)
		if failed, _ := log.Result(0)["error"].(map[string]any); failed["reason"] != "OUTCOME_UNKNOWN" || failed["retryable"] != false {
			t.Errorf("the model was told %v", log.Results)
		}
		if n := h.hands.Count(s.name); n != 1 || log.Done["finish_reason"] != "stop" || !strings.Contains(log.Text(2), "OUTCOME_UNKNOWN") {
			t.Errorf("the effect was had %d times, the run ended with %v, %q", n, log.Done, log.Text(2))
		}
		s.goesOn(t)
	})
	t.Run("a call whose provider is gone has an unknown outcome too", func(t *testing.T) {
		s := h.killedIn(t, moment{hold: "/first"})
		with := h.config
		alone := *h.w
		alone.Config.Providers = nil
		h.config = alone.ConfigFile(t)
		h.start()
		s.held.Release()
		s.untilEnd(t)
		log := checkRun(t, h.p.Client, s.conversation, s.run.RunID, &s.run)
		if failed, _ := log.Result(0)["error"].(map[string]any); failed["reason"] != "OUTCOME_UNKNOWN" {
			t.Errorf("the model was told %v", log.Results)
		}
		if n := h.hands.Count(s.name + "/first"); n != 1 || log.Done["finish_reason"] != "stop" {
			t.Errorf("the effect was had %d times, the run ended with %v %v", n, log.Done, log.Error)
		}
		s.goesOn(t)
		h.p.Kill()
		h.config = with
		h.start()
	})
	h.leave(t)
}

func TestARunThatIsKilledAgainAndAgainIsLeftToAPerson(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.killedIn(t, moment{say: "forever", at: event("message", 1)})
	kills := 1
	h.start()
	for s.status(t) != "waiting" {
		if kills > 5 {
			t.Fatalf("after %d kills the run is %s", kills, s.status(t))
		}
		// It writes again: the owner after the kill has taken it.
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		err := h.p.Watch(ctx, s.run.RunID, s.run.LastID, func(e world.Event) bool {
			s.run.Take(e)
			return e.Name != "message" && ctx.Err() == nil && s.status(t) != "waiting"
		})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if s.status(t) == "waiting" {
			break
		}
		h.p.Kill()
		kills++
		h.start()
		eventually(t, 10*time.Second, "somebody takes the run", func() bool {
			run := h.p.Data(t, "GET", "/api/runs/"+s.run.RunID, nil)
			return run["status"] == "waiting" || int(run["last_seq"].(float64)) > s.run.LastID
		})
	}
	run := h.p.Data(t, "GET", "/api/runs/"+s.run.RunID, nil)
	if fmt.Sprint(run["waiting_for"]) != "[stuck_run]" || kills < 3 || kills > 4 {
		t.Errorf("after %d kills the run is %v", kills, run)
	}
	t.Logf("left to a person after %d kills", kills)
	h.p.Data(t, "POST", "/api/runs/"+s.run.RunID+"/cancel", map[string]any{})
	s.untilEnd(t)
	log := checkRun(t, h.p.Client, s.conversation, s.run.RunID)
	if log.Done["finish_reason"] != "cancelled" {
		t.Errorf("the run ended with %v %v", log.Done, log.Error)
	}
	s.goesOn(t)
	h.leave(t)
}

func (s *scene) status(t testing.TB) any {
	t.Helper()
	return s.p.Data(t, "GET", "/api/runs/"+s.run.RunID, nil)["status"]
}

func TestAQueueSurvivesKill9(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	const all = 9 // four run, five wait
	ids, runs := make([]string, all), make([]string, all)
	for i := range ids {
		ids[i] = h.p.Conversation(t)
		runs[i] = begin(t, h.p.Client, ids[i], fmt.Sprintf("%s %d", t.Name(), i))
	}
	h.p.Kill()
	h.start()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for i, runID := range runs {
		run := &world.Transcript{RunID: runID}
		if err := h.p.Resume(ctx, run); err != nil {
			t.Fatalf("run %d: %v", i, err)
		}
		log := checkRun(t, h.p.Client, ids[i], runID, run)
		if log.Done["finish_reason"] != "stop" {
			t.Errorf("run %d ended with %v %v", i, log.Done, log.Error)
		}
		for _, what := range []string{"/first", "/second"} {
			if n := h.hands.Count(fmt.Sprintf("%s %d%s", t.Name(), i, what)); n != 1 {
				t.Errorf("run %d: the effect %s was had %d times", i, what, n)
			}
		}
	}
	h.leave(t)
}

func TestACallGoesOnWhenTheServerIsStoppedInOrder(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := &scene{house: h, name: t.Name(), conversation: h.p.Conversation(t)}
	held := h.hands.Hold(s.name + "/first")
	t.Cleanup(held.Release)
	stopped := make(chan error, 1)
	go func() {
		<-held.Entered
		stopped <- h.p.Stop()
	}()
	if err := s.send(t.Context(), s.run.Take); err != nil {
		t.Fatal(err)
	}
	if n := len(s.run.Names); s.run.Ended() || s.run.Names[n-1] != "bye" {
		t.Errorf("the reader was sent away with %v", s.run.Names)
	}
	if err := <-stopped; err != nil {
		t.Errorf("stop: %v", err)
	}
	h.start()
	held.Release()
	s.untilEnd(t)
	log := checkRun(t, h.p.Client, s.conversation, s.run.RunID, &s.run)
	s.checkEnd(t, moment{}, log)
	s.goesOn(t)
	h.leave(t)
}
