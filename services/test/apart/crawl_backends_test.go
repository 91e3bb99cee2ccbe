//go:build backends

package apart

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/addrtest"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/sampletest"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

const (
	crawls  = 10
	perTask = 50
	// longest bounds the whole: each kill can keep a host for the time of a lease.
	longest = 4 * time.Minute
)

// Three fetchers and two task managers share the work; any of them may die at
// any moment.
func TestCrawlsOfManyProcessesLoseNothingWhenTheseAreKilled(t *testing.T) {
	random := sampletest.Random(sampletest.Seed(t))
	w := world.New(t, answering)
	site := w.NewSites(t, 5, 50*time.Millisecond, "")
	onBackends(t, w)
	d := deploy(t, w)
	managers, fetchers := []string{"task-manager1", "task-manager2"}, []string{"fetcher1", "fetcher2", "fetcher3"}
	d.services.TaskManager = d.named("tasks.test", managers...)
	d.services.Fetcher = d.named("fetchers.test", fetchers...)
	all := append(append([]string{}, managers...), fetchers...)
	d.start(all...)

	bounded, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	ctx := auth.NewContext(bounded, auth.UserPrincipal("usr_crawls", auth.ScopeAll))
	tasks := func() taskmanagerv1.CrawlTaskServiceClient {
		return taskmanagerv1.NewCrawlTaskServiceClient(d.as("gateway", d.key, managers[random.IntN(2)]))
	}
	var ids []string
	for task := range crawls {
		var urls []string
		for page := range perTask {
			urls = append(urls, site.Page(task, fmt.Sprintf("task%d-page%d", task, page)))
		}
		parallel := int32(5)
		made, err := tasks().CreateCrawlTask(ctx, &taskmanagerv1.CreateCrawlTaskRequest{Urls: urls, Parallel: &parallel})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, made.TaskId)
	}
	const kills = 5
	for range kills {
		time.Sleep(time.Duration(200+random.IntN(800)) * time.Millisecond) // the kill comes at any moment
		victim := all[random.IntN(len(all))]
		d.procs[victim].Kill()
		t.Logf("killed %s", victim)
		d.start(victim)
	}
	results, distinct := 0, map[string]bool{}
	for _, id := range ids {
		task := d.finished(ctx, tasks(), id)
		if task.Status != "completed" || task.Outcome != "ok" || task.Progress != perTask || task.Percent != 100 {
			t.Errorf("%s is %s %s, %d of %d", id, task.Status, task.Outcome, task.Progress, task.Total)
		}
		for cursor := ""; ; {
			limit := int32(100)
			page, err := tasks().ListCrawlResults(ctx, &taskmanagerv1.ListCrawlResultsRequest{TaskId: id, Limit: &limit, Cursor: cursor})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page.Items {
				results++
				distinct[id+" "+r.Url] = true
				_, name, _ := strings.Cut(strings.TrimPrefix(r.Url, "http://"), "/")
				if !r.Ok || !strings.Contains(r.Data.GetContent().GetText(), "This page is called "+name+" ") {
					t.Errorf("%s: %v", id, r)
				}
			}
			if cursor = page.NextCursor; cursor == "" || !page.HasMore {
				break
			}
		}
	}
	if results != crawls*perTask || len(distinct) != crawls*perTask {
		t.Errorf("%d results, %d distinct, want %d of both", results, len(distinct), crawls*perTask)
	}
	t.Logf("%d kills: %d results, %d distinct, %d fetches", kills, results, len(distinct), len(site.Visits()))
	other := auth.NewContext(ctx, auth.UserPrincipal("usr_other", auth.ScopeAll))
	if _, err := tasks().GetCrawlTask(other, &taskmanagerv1.GetCrawlTaskRequest{TaskId: ids[0]}); status.Code(err) != codes.NotFound {
		t.Errorf("somebody else gets %v", err)
	}
}

// finished waits for the end of a task.
func (d *deployment) finished(ctx context.Context, tasks taskmanagerv1.CrawlTaskServiceClient, id string) *taskmanagerv1.CrawlTask {
	d.t.Helper()
	var task *taskmanagerv1.CrawlTask
	untilAfter(d.t, longest, "task "+id+" ends", func() bool {
		got, err := tasks.GetCrawlTask(ctx, &taskmanagerv1.GetCrawlTaskRequest{TaskId: id})
		if err != nil {
			d.t.Fatal(err)
		}
		task = got.Task
		return task.CompletedAt != nil
	})
	return task
}

// named prepares processes of one target and gives them one name.
func (d *deployment) named(name string, processes ...string) (target string) {
	d.t.Helper()
	addrs := addrtest.Replicas(d.t, len(processes))
	var hosts []string
	var port string
	for i, process := range processes {
		d.add(process).GRPC.Addr = addrs[i]
		host, p, err := net.SplitHostPort(addrs[i])
		if err != nil {
			d.t.Fatal(err)
		}
		hosts, port = append(hosts, host), p
	}
	return "dns://" + nameServer(d.t, hosts...) + "/" + name + ":" + port
}
