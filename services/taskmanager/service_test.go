package taskmanager

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/ident"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
)

func TestABatchIsFetchedToItsEnd(t *testing.T) {
	w := newWorld(t)
	id := w.create("ann", append(pages("a.example", 10), pages("b.example", 3)...)...)
	got := w.crawl("ann", id)
	if got.Status != "completed" || got.Outcome != "ok" || got.Total != 13 || got.Succeeded != 13 || got.Percent != 100 || len(got.Results) != 13 {
		t.Errorf("%v", got)
	}
	if d := got.Results[0].Data; d.Content.Text != "The text of "+got.Results[0].Url || d.Metadata.Title == "" || d.Truncated {
		t.Errorf("%v", d)
	}
	if got.ExpiresAt.AsTime().Sub(got.CompletedAt.AsTime()) != 14*24*time.Hour || got.StallReason != "" {
		t.Errorf("expires %v, stalled %q", got.ExpiresAt, got.StallReason)
	}
}

func TestAnAddressThatCannotBeFetchedFailsAloneAndAtOnce(t *testing.T) {
	w := newWorld(t)
	id := w.create("ann", "https://a.example/", "not an address", "http://10.0.0.1/", "ftp://a.example/", "http://user:hush@a.example/", "http://a.example:22/")
	before := w.get("ann", id)
	if before.Status != "pending" || before.Failed != 5 || before.Progress != 5 || before.Total != 6 || len(before.Errors) != 5 {
		t.Errorf("%v", before)
	}
	reasons := map[string]string{}
	for _, e := range before.Errors {
		reasons[e.Url] = e.Reason
		if e.Error == "" {
			t.Errorf("%s has no words", e.Url)
		}
	}
	if reasons["not an address"] != "URL_REFUSED" || reasons["http://10.0.0.1/"] != "PRIVATE_ADDRESS" || reasons["http://a.example:22/"] != "URL_REFUSED" {
		t.Errorf("%v", reasons)
	}
	if got := w.crawl("ann", id); got.Outcome != "partial" || got.Succeeded != 1 {
		t.Errorf("%v", got)
	}
}

func TestATaskOfNothingThatCanBeFetchedIsDoneAtOnce(t *testing.T) {
	w := newWorld(t)
	res, err := w.svc.CreateCrawlTask(as("ann"), &pb.CreateCrawlTaskRequest{Urls: []string{"x", "y", "x "}})
	if err != nil || res.Status != "completed" || res.Total != 2 || !strings.Contains(res.Message, "None") {
		t.Fatalf("%v, %v", res, err)
	}
	if got := w.get("ann", res.TaskId); got.Outcome != "empty" || got.Failed != 2 {
		t.Errorf("%v", got)
	}
}

func TestAddressesOfOnePageAreFetchedOnce(t *testing.T) {
	w := newWorld(t)
	res, err := w.svc.CreateCrawlTask(as("ann"), &pb.CreateCrawlTaskRequest{Urls: []string{
		"https://A.example/x?b=1#top", "https://a.example:443/x?b=1", "https://a.example/x?b=1#bottom", "https://a.example/x/?b=1",
	}})
	if err != nil || res.Total != 2 || !strings.Contains(res.Message, "2 were named twice") {
		t.Fatalf("%v, %v", res, err)
	}
	b := w.lease("w1")
	if len(b.Targets) != 2 || b.Targets[0].Url != "https://A.example/x?b=1" {
		t.Errorf("%v", b.Targets)
	}
	w.finish(b)
}

func TestBadRequestsSayWhatIsWrong(t *testing.T) {
	w := newWorld(t)
	parallel := func(n int32) *int32 { return &n }
	for name, tc := range map[string]struct {
		req   *pb.CreateCrawlTaskRequest
		words string
	}{
		"nothing":      {&pb.CreateCrawlTaskRequest{}, "1 to 50"},
		"51 addresses": {&pb.CreateCrawlTaskRequest{Urls: pages("a.example", 51)}, "51 addresses"},
		"parallel 0":   {&pb.CreateCrawlTaskRequest{Urls: pages("a.example", 1), Parallel: parallel(0)}, "1 to 5"},
		"parallel 99":  {&pb.CreateCrawlTaskRequest{Urls: pages("a.example", 1), Parallel: parallel(99)}, "1 to 5"},
	} {
		_, err := w.svc.CreateCrawlTask(as("ann"), tc.req)
		wantError(t, err, codes.InvalidArgument, "")
		if err == nil || !strings.Contains(err.Error(), tc.words) {
			t.Errorf("%s: %v", name, err)
		}
	}
	id := w.create("ann", "https://a.example/")
	_, err := w.svc.ListCrawlResults(as("ann"), &pb.ListCrawlResultsRequest{TaskId: id, Cursor: "x"})
	wantError(t, err, codes.InvalidArgument, "")
	for _, cursor := range []string{"zzz", "task_", "task_zzz", strings.ToUpper(id), "lease_" + strings.TrimPrefix(id, "task_"), id + "z"} {
		_, err := w.svc.ListCrawlTasks(as("ann"), &pb.ListCrawlTasksRequest{Cursor: cursor})
		wantError(t, err, codes.InvalidArgument, "")
	}
	for _, after := range []int{2, 99} {
		_, end := watchTask(as("ann"), w.svc, id, after)
		wantError(t, end(), codes.InvalidArgument, "")
	}
	_, end := watchTask(as("ann", "last-event-id", "x"), w.svc, id, 0)
	wantError(t, end(), codes.InvalidArgument, "")
}

func TestTasksOfOthersAreNotThere(t *testing.T) {
	w := newWorld(t)
	id := w.create("ann", pages("a.example", 3)...)
	for _, id := range []string{id, "task_none", ""} {
		calls := map[string]func() error{
			"get": func() error { _, err := w.svc.GetCrawlTask(as("bob"), &pb.GetCrawlTaskRequest{TaskId: id}); return err },
			"cancel": func() error {
				_, err := w.svc.CancelCrawlTask(as("bob"), &pb.CancelCrawlTaskRequest{TaskId: id})
				return err
			},
			"results": func() error {
				_, err := w.svc.ListCrawlResults(as("bob"), &pb.ListCrawlResultsRequest{TaskId: id})
				return err
			},
			"watch": func() error { _, end := watchTask(as("bob"), w.svc, id, 0); return end() },
		}
		for name, call := range calls {
			if err := call(); err == nil {
				t.Errorf("%s of %q works", name, id)
			} else {
				wantError(t, err, codes.NotFound, "NOT_FOUND")
			}
		}
	}
	list, err := w.svc.ListCrawlTasks(as("bob"), &pb.ListCrawlTasksRequest{Cursor: ident.New(schema.TaskPrefix)})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	if got := w.get("ann", id); got.Status == "cancelled" {
		t.Error("somebody else cancelled it")
	}
	for name, call := range map[string]func() error{
		"create": func() error {
			_, err := w.svc.CreateCrawlTask(worker(), &pb.CreateCrawlTaskRequest{Urls: pages("a.example", 1)})
			return err
		},
		"list": func() error { _, err := w.svc.ListCrawlTasks(worker(), &pb.ListCrawlTasksRequest{}); return err },
		"get":  func() error { _, err := w.svc.GetCrawlTask(worker(), &pb.GetCrawlTaskRequest{TaskId: id}); return err },
	} {
		if err := call(); err == nil {
			t.Errorf("a service's own %s works", name)
		}
	}
}

func TestAKeyStandsForOneTask(t *testing.T) {
	w := newWorld(t)
	req := &pb.CreateCrawlTaskRequest{Urls: pages("a.example", 2)}
	first, err := w.svc.CreateCrawlTask(as("ann", "idempotency-key", "k"), req)
	if err != nil {
		t.Fatal(err)
	}
	again, err := w.svc.CreateCrawlTask(as("ann", "idempotency-key", "k"), req)
	if err != nil || again.TaskId != first.TaskId {
		t.Errorf("%v, %v", again, err)
	}
	if other, err := w.svc.CreateCrawlTask(as("bob", "idempotency-key", "k"), req); err != nil || other.TaskId == first.TaskId {
		t.Errorf("%v, %v", other, err)
	}
	_, err = w.svc.CreateCrawlTask(as("ann", "idempotency-key", "k"), &pb.CreateCrawlTaskRequest{Urls: pages("b.example", 2)})
	wantError(t, err, codes.Aborted, ReasonKeyReused)
	for _, bad := range []string{"", strings.Repeat("k", 201)} {
		_, err = w.svc.CreateCrawlTask(as("ann", "idempotency-key", bad), req)
		wantError(t, err, codes.InvalidArgument, "")
	}
	var ids sync.Map
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			res, err := w.svc.CreateCrawlTask(as("ann", "idempotency-key", "at once"), req)
			if err != nil {
				t.Error(err)
				return
			}
			ids.Store(res.TaskId, true)
		})
	}
	all.Wait()
	n := 0
	ids.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d tasks of one key", n)
	}
}

func TestAUserHasOnlySoManyTasks(t *testing.T) {
	w := newWorld(t, func(c *Config, _ *Deps) { c.MaxTasksPerUser = 4 })
	var last string
	for range 4 {
		last = w.create("ann", "https://a.example/")
	}
	_, err := w.svc.CreateCrawlTask(as("ann"), &pb.CreateCrawlTaskRequest{Urls: pages("a.example", 1)})
	wantError(t, err, codes.ResourceExhausted, ReasonTooManyTasks)
	w.create("bob", "https://a.example/")
	if _, err := w.svc.CancelCrawlTask(as("ann"), &pb.CancelCrawlTaskRequest{TaskId: last}); err != nil {
		t.Fatal(err)
	}
	w.create("ann", "https://a.example/")
}

func TestTasksAreListedNewestFirstAndPaged(t *testing.T) {
	w := newWorld(t)
	var want []string
	for i := range 7 {
		want = append([]string{w.create("ann", fmt.Sprintf("https://a.example/%d", i))}, want...)
	}
	if _, err := w.svc.CancelCrawlTask(as("ann"), &pb.CancelCrawlTaskRequest{TaskId: want[3]}); err != nil {
		t.Fatal(err)
	}
	limit := int32(3)
	var got []string
	for cursor := ""; ; {
		res, err := w.svc.ListCrawlTasks(as("ann"), &pb.ListCrawlTasksRequest{Limit: &limit, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range res.Items {
			got = append(got, item.Id)
		}
		if cursor = res.NextCursor; !res.HasMore {
			break
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got %v, want %v", got, want)
	}
	res, err := w.svc.ListCrawlTasks(as("ann"), &pb.ListCrawlTasksRequest{Status: "cancelled"})
	if err != nil || len(res.Items) != 1 || res.Items[0].Id != want[3] {
		t.Errorf("%v, %v", res, err)
	}
}

func TestAServiceThatCannotBe(t *testing.T) {
	guard, err := netguard.New(netguard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	bad := DefaultConfig()
	bad.HostGap, bad.MaxRetries, bad.RunningPerUser, bad.MaxTasksPerUser, bad.MaxChars, bad.KeepResults, bad.KeepTasks = -1, 11, 0, -1, 1, 0, -1
	err = bad.Validate()
	for _, name := range []string{"host_gap", "max_retries", "running_per_user", "max_tasks_per_user", "max_chars", "keep_results", "keep_tasks"} {
		if err == nil || !strings.Contains(err.Error(), "tasks."+name) {
			t.Errorf("%s is not named: %v", name, err)
		}
	}
	if _, err := New(t.Context(), bad, Deps{Guard: guard, Fetcher: &robotsTxt{}}); err == nil {
		t.Error("started with a configuration that cannot be")
	}
	if _, err := New(t.Context(), DefaultConfig(), Deps{Guard: guard, Fetcher: &robotsTxt{}}); err == nil {
		t.Error("started without a blob store")
	}
	w := newWorld(t)
	if _, err := New(t.Context(), DefaultConfig(), Deps{DataDir: "/proc/none", Guard: guard, Fetcher: &robotsTxt{}, Blobs: w.blobs}); err == nil || !strings.Contains(err.Error(), "task-manager") {
		t.Errorf("%v", err)
	}
}

func TestErrorsOfTheFetcherDoNotStopTheRest(t *testing.T) {
	w := newWorld(t)
	w.robots.say(func(urls []string) (*fetcherv1.CheckRobotsResponse, error) {
		if strings.Contains(urls[0], "a.example") {
			return nil, errors.New("away")
		}
		return &fetcherv1.CheckRobotsResponse{State: "none", ValidMs: 1000}, nil
	})
	id := w.create("ann", "https://a.example/", "https://b.example/")
	b := w.lease("w1")
	if b.Origin != "https://b.example:443" {
		t.Errorf("%v", b)
	}
	w.finish(b)
	w.robots.say(nil)
	if got := w.crawl("ann", id); got.Succeeded != 2 {
		t.Errorf("%v", got)
	}
}
