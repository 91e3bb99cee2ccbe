package main

import (
	"testing"

	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
)

func TestHowFarATaskIs(t *testing.T) {
	for _, tc := range []struct {
		name string
		task *taskmanagerv1.CrawlTask
		want string
	}{
		{"one of which every page failed", &taskmanagerv1.CrawlTask{Status: "completed", Outcome: "empty", Progress: 5, Failed: 5, Total: 5}, "t: completed (empty), 0 of 5 pages, 5 failed"},
		{"one that came", &taskmanagerv1.CrawlTask{Status: "completed", Outcome: "ok", Progress: 1, Succeeded: 1, Total: 1}, "t: completed (ok), 1 of 1 page"},
		{"one that runs", &taskmanagerv1.CrawlTask{Status: "running", Progress: 3, Succeeded: 1, Failed: 1, Skipped: 1, Total: 5}, "t: running, 1 of 5 pages, 1 failed, 1 skipped, 2 to come"},
		{"one that was cancelled", &taskmanagerv1.CrawlTask{Status: "cancelled", Progress: 1, Succeeded: 1, Total: 5}, "t: cancelled, 1 of 5 pages, 4 not asked for"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.task.Id = "t"
			if got := taskLine(tc.task); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
