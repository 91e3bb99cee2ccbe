package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/terminal"
)

func (c *cli) tasksCommand() *cobra.Command {
	return group("tasks", "List crawl tasks, show one, read its results, watch it, cancel it",
		c.tasksList(), c.tasksShow(), c.tasksResults(), c.tasksWatch(), c.tasksCancel())
}

// taskService is call for the service that keeps crawl tasks.
func (c *cli) taskService(cmd *cobra.Command, p *peerFlags, do func(context.Context, taskmanagerv1.CrawlTaskServiceClient) error) error {
	return c.call(cmd, p, []string{asOwner}, func(ctx context.Context, to *peer) error {
		return do(ctx, taskmanagerv1.NewCrawlTaskServiceClient(to))
	})
}

func (c *cli) tasksList() *cobra.Command {
	var p peerFlags
	var asJSON bool
	var limit int32
	status := choice{allowed: []string{"pending", "running", "paused", "completed", "failed", "cancelled"}}
	req := &taskmanagerv1.ListCrawlTasksRequest{}
	cmd := &cobra.Command{
		Use: "list", Short: "List crawl tasks, newest first", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			req.Status, req.Limit = status.value, &limit
			return c.taskService(cmd, &p, func(ctx context.Context, client taskmanagerv1.CrawlTaskServiceClient) error {
				res, err := client.ListCrawlTasks(ctx, req)
				if err != nil {
					return err
				}
				if asJSON {
					return c.printJSON(res)
				}
				var rows [][]string
				for _, t := range res.GetItems() {
					rows = append(rows, []string{
						t.GetId(), taskState(t), fmt.Sprintf("%d/%d", t.GetSucceeded(), t.GetTotal()), strconv.Itoa(int(t.GetFailed() + t.GetSkipped())),
						t.GetExtractType(), t.GetCreatedAt().AsTime().Local().Format(time.DateTime),
					})
				}
				if err := c.table("ID\tSTATE\tPAGES\tFAILED\tTYPE\tMADE", rows); err != nil {
					return err
				}
				if res.GetHasMore() {
					c.note("there are more: go on with --cursor %s", res.GetNextCursor())
				}
				return nil
			})
		},
	}
	p.addPeer(cmd)
	f := cmd.Flags()
	f.Var(&status, "status", "only tasks of this status")
	f.Int32Var(&limit, "limit", 20, "most tasks, 1 to 100")
	f.StringVar(&req.Cursor, "cursor", "", "go on after the list before")
	f.BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

// taskState is the status of a task, with its outcome once it has one.
func taskState(t *taskmanagerv1.CrawlTask) string {
	if t.GetOutcome() != "" {
		return t.GetStatus() + " (" + t.GetOutcome() + ")"
	}
	return t.GetStatus()
}

// taskLine is how far a task is, as it is said everywhere: of how many pages how
// many came, and what became of the others.
func taskLine(t *taskmanagerv1.CrawlTask) string {
	totals := crawlTotals{Succeeded: t.GetSucceeded(), Failed: t.GetFailed(), Skipped: t.GetSkipped(), Total: t.GetTotal()}
	rest := "to come"
	switch t.GetStatus() {
	case "completed", "failed", "cancelled":
		rest = notAskedFor
	}
	return fmt.Sprintf("%s: %s, %s", t.GetId(), taskState(t), totals.wordsWith(rest))
}

func (c *cli) tasksShow() *cobra.Command {
	var p peerFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show a crawl task", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.taskService(cmd, &p, func(ctx context.Context, client taskmanagerv1.CrawlTaskServiceClient) error {
				res, err := client.GetCrawlTask(ctx, &taskmanagerv1.GetCrawlTaskRequest{TaskId: args[0]})
				if err != nil {
					return err
				}
				if asJSON {
					return c.printJSON(res.GetTask())
				}
				return c.showTask(res.GetTask())
			})
		},
	}
	p.addPeer(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document, with the first 20 results")
	return cmd
}

// showTask prints a task and, a line each, what came and what did not.
func (c *cli) showTask(t *taskmanagerv1.CrawlTask) error {
	var out strings.Builder
	fmt.Fprintln(&out, taskLine(t))
	fmt.Fprintf(&out, "made %s, %s, %d at a time\n", t.GetCreatedAt().AsTime().Local().Format(time.DateTime), t.GetExtractType(), t.GetParallel())
	for _, line := range []string{t.GetErrorMessage(), t.GetStallReason()} {
		if line != "" {
			fmt.Fprintf(&out, "! %s\n", terminal.Line(line, maxNote))
		}
	}
	for _, page := range t.GetResults() {
		m := page.GetData().GetMetadata()
		fmt.Fprintf(&out, "✓ %d %s: %s\n", m.GetStatusCode(), terminal.Line(page.GetUrl(), maxSnippet), terminal.Line(m.GetTitle(), maxCell))
	}
	for _, e := range t.GetErrors() {
		fmt.Fprintf(&out, "✗ %s: %s\n", terminal.Line(e.GetUrl(), maxSnippet), reasonWords(e))
	}
	if _, err := fmt.Fprint(c.result(), out.String()); err != nil {
		return err
	}
	if t.GetProgress() > 0 {
		c.note("read them with \"nanoclaw tasks results %s\"", t.GetId())
	}
	return nil
}

func (c *cli) tasksCancel() *cobra.Command {
	var p peerFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "cancel ID", Short: "Cancel a crawl task; what was fetched stays", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.taskService(cmd, &p, func(ctx context.Context, client taskmanagerv1.CrawlTaskServiceClient) error {
				res, err := client.CancelCrawlTask(ctx, &taskmanagerv1.CancelCrawlTaskRequest{TaskId: args[0]})
				if err != nil {
					return err
				}
				t := res.GetTask()
				if asJSON {
					return c.printJSON(t)
				}
				_, err = fmt.Fprintln(c.stdout, taskLine(t))
				return err
			})
		},
	}
	p.addPeer(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}
