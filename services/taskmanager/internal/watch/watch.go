// Package watch lets a user follow a task: what is logged, without a gap and
// without anything twice, and between it how far the task has come and what goes
// on at its hosts.
package watch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/hub"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/task"
)

const (
	// lookEvery is how often a task is looked at that nobody here moves.
	lookEvery = time.Second
	// progressEvery is how often progress is told while the task moves.
	progressEvery = 250 * time.Millisecond
	// hostsEvery is how often the hosts are looked at.
	hostsEvery = time.Second
	// rateOver is the time over which the rate is taken.
	rateOver = 5 * time.Second
	// pageEvents are read from SQL at once.
	pageEvents = 200
)

// Watcher reads tasks.
type Watcher struct {
	Tasks *task.Store
	Hub   *hub.Hub
	// Draining is closed when this process is about to end: readers are told to
	// come back.
	Draining <-chan struct{}
	// Stall says why nothing moves.
	Stall func(ctx context.Context, t schema.Task) (string, error)
}

// AheadError says that somebody wants to go on after an event that the task never
// had.
type AheadError struct{ After, LastSeq int }

func (e *AheadError) Error() string {
	return fmt.Sprintf("watch: the task has %d events by now", e.LastSeq)
}

// errEnded ends a watch.
var errEnded = errors.New("the watch has ended")

// Watch sends how far the task has come, its logged events after a sequence
// number, and then what happens, until it has ended. An error of send ends the
// watch, and a number beyond the log is an *AheadError.
func (w *Watcher) Watch(ctx context.Context, userID, taskID string, after int, send func(*pb.CrawlEvent) error) error {
	f := &follower{w: w, userID: userID, taskID: taskID, seq: after, send: send, hosts: map[string]*pb.CrawlHost{}}
	for {
		switch err := f.once(ctx); {
		case errors.Is(err, errEnded):
			return nil
		case err != nil:
			return err
		}
	}
}

type follower struct {
	w              *Watcher
	userID, taskID string
	seq            int // last logged event that was sent
	send           func(*pb.CrawlEvent) error

	told     time.Time // when progress was told last; zero: never
	rev      int       // of the task then
	stall    string    // told then
	owes     bool      // there is progress that was not told yet
	looked   time.Time // when the hosts were looked at
	hosts    map[string]*pb.CrawlHost
	progress []point
}

// point is how far the task had come at a time.
type point struct {
	at   time.Time
	done int
}

// once looks at the task, and waits until it is to be looked at again.
func (f *follower) once(ctx context.Context) error {
	moved, release := f.w.Hub.Moved(f.taskID) // before looking
	defer release()
	t, err := f.w.Tasks.Get(ctx, f.userID, f.taskID)
	if err != nil {
		return err
	}
	if f.told.IsZero() && f.seq > t.LastSeq {
		return &AheadError{After: f.seq, LastSeq: t.LastSeq}
	}
	if err := f.look(ctx, t); err != nil {
		return err
	}
	return f.wait(ctx, moved)
}

// look sends what is new of a task.
func (f *follower) look(ctx context.Context, t schema.Task) error {
	if err := f.tell(ctx, t); err != nil {
		return err
	}
	if err := f.log(ctx, t.LastSeq); err != nil {
		return err
	}
	if t.Ended() {
		return f.end(t)
	}
	return f.tellHosts(ctx)
}

// end sends the last event of a task whose log is gone, and ends the watch.
func (f *follower) end(t schema.Task) error {
	if f.seq < t.LastSeq {
		err := f.send(&pb.CrawlEvent{Seq: int32(t.LastSeq), Event: &pb.CrawlEvent_Done{Done: &pb.CrawlDone{
			Status: t.Status, Outcome: t.Outcome, Succeeded: int32(t.Succeeded), Failed: int32(t.Failed), Skipped: int32(t.Skipped), Total: int32(t.Total),
		}}})
		if err != nil {
			return err
		}
	}
	return errEnded
}

// tell sends progress, at once the first time and then while the task moves.
func (f *follower) tell(ctx context.Context, t schema.Task) error {
	now := time.Now()
	first := f.told.IsZero()
	f.owes = f.owes || t.Rev != f.rev
	if !first && now.Sub(f.told) < progressEvery {
		return nil
	}
	if !first && !f.owes && now.Sub(f.told) < lookEvery {
		return nil
	}
	stall, err := f.w.Stall(ctx, t)
	if err != nil {
		return err
	}
	if !first && !f.owes && stall == f.stall {
		return nil
	}
	f.told, f.rev, f.stall, f.owes = now, t.Rev, stall, false
	p := &pb.CrawlProgress{
		Status: t.Status, Progress: int32(t.Progress()), Total: int32(t.Total), Succeeded: int32(t.Succeeded), Failed: int32(t.Failed),
		Skipped: int32(t.Skipped), Rate: f.rate(now, t.Progress()), StallReason: stall, Percent: 100,
	}
	if t.Total > 0 {
		p.Percent = int32(100 * t.Progress() / t.Total)
	}
	return f.send(&pb.CrawlEvent{Event: &pb.CrawlEvent_Progress{Progress: p}})
}

// rate is pages a second over the last seconds.
func (f *follower) rate(now time.Time, done int) float64 {
	f.progress = append(f.progress, point{now, done})
	for len(f.progress) > 2 && now.Sub(f.progress[1].at) > rateOver {
		f.progress = f.progress[1:]
	}
	from := f.progress[0]
	took := now.Sub(from.at).Seconds()
	if took <= 0 {
		return 0
	}
	return float64(done-from.done) / took
}

// log sends the logged events up to a sequence number.
func (f *follower) log(ctx context.Context, last int) error {
	for f.seq < last {
		events, err := f.w.Tasks.Events(ctx, f.taskID, f.seq, pageEvents)
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := f.send(e); err != nil {
				return err
			}
			f.seq = int(e.Seq)
			if e.GetDone() != nil {
				return errEnded
			}
		}
		if len(events) < pageEvents {
			return nil
		}
	}
	return nil
}

// tellHosts sends what has changed at the hosts.
func (f *follower) tellHosts(ctx context.Context) error {
	now := time.Now()
	if now.Sub(f.looked) < hostsEvery {
		return nil
	}
	f.looked = now
	hosts, ms, err := f.w.Tasks.Hosts(ctx, f.taskID)
	if err != nil {
		return err
	}
	open := map[string]bool{}
	for _, h := range hosts {
		open[h.Name] = true
		if err := f.tellHost(hostOf(h, ms)); err != nil {
			return err
		}
	}
	for name, last := range f.hosts {
		if !open[name] && last.State != "done" {
			if err := f.tellHost(&pb.CrawlHost{Host: name, State: "done"}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *follower) tellHost(h *pb.CrawlHost) error {
	if last := f.hosts[h.Host]; last != nil && last.State == h.State && last.Open == h.Open && last.Reason == h.Reason {
		return nil
	}
	f.hosts[h.Host] = h
	return f.send(&pb.CrawlEvent{Event: &pb.CrawlEvent_Host{Host: h}})
}

func hostOf(h task.Host, now int64) *pb.CrawlHost {
	out := &pb.CrawlHost{Host: h.Name, Open: int32(h.Open), State: "waiting", Reason: h.Reason}
	at := max(h.NextAt, h.NotBefore)
	switch {
	case h.Mine:
		out.State, out.Reason = "fetching", ""
	case h.NextAt > now && h.Reason != "":
		out.State = "blocked"
	case h.Unchecked == h.Open:
		out.State = "robots"
	}
	if at > now {
		out.NextAt = timestamppb.New(schema.Time(at))
	}
	return out
}

// wait returns nil when the task is to be looked at again.
func (f *follower) wait(ctx context.Context, moved <-chan struct{}) error {
	wait := lookEvery
	if f.owes {
		wait = max(progressEvery-time.Since(f.told), time.Millisecond)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-moved:
		return nil
	case <-f.w.Draining:
		if err := f.send(&pb.CrawlEvent{Event: &pb.CrawlEvent_Bye{Bye: &pb.CrawlBye{Reason: "drain", Resume: true}}}); err != nil {
			return err
		}
		return errEnded
	case <-ctx.Done():
		return ctx.Err()
	}
}
