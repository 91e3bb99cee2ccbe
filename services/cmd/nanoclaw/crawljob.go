package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc/status"

	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/crawl"
)

const (
	// crawlTasks is how many tasks of one command there are at a time: as many
	// as a server runs for one user.
	crawlTasks = 4
	// cancelTime is how long the server may take to end what was cancelled.
	cancelTime = 30 * time.Second
)

// errCrawlStopped ends a crawl that a person or --timeout cancelled.
var errCrawlStopped = errors.New("the crawl was cancelled")

// crawlJob is one crawl command: its tasks and what came of them.
type crawlJob struct {
	*cli
	flags   *crawlFlags
	tasks   taskmanagerv1.CrawlTaskServiceClient
	batches [][]string
	view    *crawlView

	mu       sync.Mutex
	out      resultWriter
	live     map[string]bool // tasks that go on
	begun    bool            // the server has answered
	stopped  bool            // no more are begun
	ended    []crawlTaskEnd
	results  []json.RawMessage // with --json
	totals   crawlTotals
	problem  error // the first failure of a task that is no page's
	timedOut bool

	cancelling sync.WaitGroup
}

// crawlTaskEnd is one task in the document of --json.
type crawlTaskEnd struct {
	ID      string `json:"task_id"`
	Status  string `json:"status"`
	Outcome string `json:"outcome"`
	crawlTotals
}

// run makes the tasks, some at a time, and follows each to its end. The first
// signal, or --timeout, cancels them; the second signal leaves them.
func (j *crawlJob) run(ctx context.Context, signals <-chan os.Signal) error {
	ctx, leave := context.WithCancel(ctx)
	defer j.cancelling.Wait()
	defer leave()
	j.live = map[string]bool{}
	done := make(chan error, 1)
	go func() { done <- j.followAll(ctx) }()
	var late <-chan time.Time
	if j.flags.timeout > 0 {
		timer := time.NewTimer(j.flags.timeout)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case err := <-done:
		if err != nil && !errors.Is(err, crawl.ErrLost) {
			j.cancel(ctx) // nobody would read what they bring
			j.cancelling.Wait()
		}
		return err
	case <-signals:
		j.aside("cancelling the crawl; once more to leave at once")
	case <-late:
		j.timedOut = true
	}
	j.cancel(ctx)
	patience := time.NewTimer(cancelTime)
	defer patience.Stop()
	select {
	case err := <-done:
		if err == nil {
			err = errCrawlStopped
		}
		return err
	case <-signals:
	case <-patience.C:
		j.aside("the server does not end what was cancelled; leaving it")
	}
	leave()
	<-done
	if j.timedOut {
		return j.late()
	}
	return errInterrupted
}

// late is the end of a crawl at --timeout.
func (j *crawlJob) late() error {
	return &exitError{exitTimeout, fmt.Errorf("timed out after %s, the rest is cancelled: give it more time with --timeout", j.flags.timeout)}
}

// followAll returns when every task has ended, with the first failure that makes
// the results worthless.
func (j *crawlJob) followAll(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	batches := make(chan []string)
	failures := make(chan error, crawlTasks)
	var workers sync.WaitGroup
	for range min(crawlTasks, len(j.batches)) {
		workers.Go(func() {
			for batch := range batches {
				if err := j.one(ctx, batch); err != nil {
					failures <- err
					stop()
					return
				}
			}
		})
	}
	for _, batch := range j.batches {
		select {
		case batches <- batch:
		case <-ctx.Done():
		}
	}
	close(batches)
	workers.Wait()
	j.view.aside()
	select {
	case err := <-failures:
		return err
	default:
		return nil
	}
}

// one makes one task and follows it to its end.
func (j *crawlJob) one(ctx context.Context, batch []string) error {
	j.mu.Lock()
	stopped := j.stopped
	j.mu.Unlock()
	if stopped {
		j.lock(func() { j.totals.Total += int32(len(batch)) })
		return nil
	}
	made, err := j.create(ctx, batch)
	if err != nil {
		return err
	}
	task := made.GetTaskId()
	cancelled := false
	j.lock(func() { j.live[task], cancelled = true, j.stopped })
	if cancelled { // the person was faster than the server
		j.cancelTask(ctx, task)
	}
	end, err := j.follow(ctx, task)
	if err != nil {
		return err
	}
	return j.take(ctx, task, end)
}

func (j *crawlJob) follow(ctx context.Context, task string) (*taskmanagerv1.CrawlDone, error) {
	f := crawl.Follower{
		Tasks: j.tasks, TaskID: task,
		Seen:    func(event *taskmanagerv1.CrawlEvent) { j.view.seen(task, event) },
		Results: func(r *taskmanagerv1.CrawlResult) error { return j.result(task, r) },
		Note:    j.aside,
	}
	return f.Follow(ctx)
}

// aside says something between the lines of the view.
func (j *crawlJob) aside(text string) {
	j.view.aside()
	j.note("%s", text)
}

// result takes one result of a task.
func (j *crawlJob) result(task string, r *taskmanagerv1.CrawlResult) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.flags.asJSON {
		text, err := resultJSON(task, r)
		j.results = append(j.results, text)
		return err
	}
	j.view.aside()
	return j.out.write(task, r)
}

// take notes how a task ended.
func (j *crawlJob) take(ctx context.Context, task string, end *taskmanagerv1.CrawlDone) error {
	message := ""
	if end.GetStatus() == "failed" {
		res, err := j.tasks.GetCrawlTask(ctx, &taskmanagerv1.GetCrawlTaskRequest{TaskId: task})
		if err != nil {
			return err
		}
		message = res.GetTask().GetErrorMessage()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.live, task)
	var totals crawlTotals
	totals.add(end)
	j.totals.add(end)
	j.ended = append(j.ended, crawlTaskEnd{task, end.GetStatus(), end.GetOutcome(), totals})
	if err := crawlEnd(task, end, message); err != nil && !j.stopped && j.problem == nil {
		j.problem = err
	}
	return nil
}

// cancel ends the tasks that go on and begins no more.
func (j *crawlJob) cancel(ctx context.Context) {
	var tasks []string
	j.lock(func() {
		j.stopped = true
		for task := range j.live {
			tasks = append(tasks, task)
		}
	})
	for _, task := range tasks {
		j.cancelling.Go(func() { j.cancelTask(ctx, task) })
	}
}

func (j *crawlJob) cancelTask(ctx context.Context, task string) {
	ctx, stop := context.WithTimeout(ctx, cancelTime)
	defer stop()
	_, err := j.tasks.CancelCrawlTask(ctx, &taskmanagerv1.CancelCrawlTaskRequest{TaskId: task})
	if err != nil && ctx.Err() == nil {
		j.aside(fmt.Sprintf("the server did not cancel task %s: %s", task, status.Convert(err).Message()))
	}
}

func (j *crawlJob) lock(do func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	do()
}

// crawlDocument is what --json prints.
type crawlDocument struct {
	Tasks   []crawlTaskEnd    `json:"tasks"`
	Results []json.RawMessage `json:"results"`
	crawlTotals
}

func (j *crawlJob) document() crawlDocument {
	return crawlDocument{append([]crawlTaskEnd{}, j.ended...), append([]json.RawMessage{}, j.results...), j.totals}
}
