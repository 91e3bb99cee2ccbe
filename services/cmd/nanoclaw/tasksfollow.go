package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/crawl"
)

func (c *cli) tasksResults() *cobra.Command {
	var p peerFlags
	var asJSON bool
	o := newOutFlags()
	cmd := &cobra.Command{
		Use: "results ID", Short: "Print what a crawl task has fetched so far", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, other := range []string{"format", "out"} {
				if err := exclusive(cmd, "json", other); err != nil {
					return err
				}
			}
			to, err := c.findPlace(o.file)
			if err != nil {
				return err
			}
			out, err := to.open()
			if err != nil {
				return err
			}
			defer out.discard()
			w := newResultWriter(out, o.chosen(cmd.Flags().Changed("format")))
			all := []json.RawMessage{}
			err = c.taskService(cmd, &p, func(ctx context.Context, client taskmanagerv1.CrawlTaskServiceClient) error {
				r := crawl.Reading{Tasks: client, TaskID: args[0], Each: func(r *taskmanagerv1.CrawlResult) error {
					if !asJSON {
						return w.write(args[0], r)
					}
					text, err := resultJSON(args[0], r)
					all = append(all, text)
					return err
				}}
				return r.Read(ctx)
			})
			if err != nil {
				return err
			}
			if asJSON {
				return c.printDocument(struct {
					Results []json.RawMessage `json:"results"`
				}{all})
			}
			return out.keep()
		},
	}
	p.addPeer(cmd)
	o.addOutput(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

func (c *cli) tasksWatch() *cobra.Command {
	var p peerFlags
	var asJSON, asEvents bool
	cmd := &cobra.Command{
		Use: "watch ID", Short: "Follow a crawl task until it ends", Args: exactly(1),
		Long: `Follow a crawl task until it ends. Ctrl+C leaves the task as it is. Exit code 0
when every page came, 5 when some did, 1 when none did or the task was cancelled.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := exclusive(cmd, "json", "jsonl"); err != nil {
				return err
			}
			return c.taskService(cmd, &p, func(ctx context.Context, client taskmanagerv1.CrawlTaskServiceClient) error {
				return c.watchTask(ctx, client, args[0], asJSON, asEvents)
			})
		},
	}
	p.addPeer(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the task as one JSON document when it has ended")
	cmd.Flags().BoolVar(&asEvents, "jsonl", false, "print every event as a line of JSON")
	return cmd
}

func (c *cli) watchTask(ctx context.Context, client taskmanagerv1.CrawlTaskServiceClient, task string, asJSON, asEvents bool) error {
	got, err := client.GetCrawlTask(ctx, &taskmanagerv1.GetCrawlTaskRequest{TaskId: task})
	if err != nil {
		return err
	}
	view := c.newCrawlView(int(got.GetTask().GetTotal()), asJSON || asEvents)
	var writing error
	f := crawl.Follower{
		Tasks: client, TaskID: task,
		Seen: func(event *taskmanagerv1.CrawlEvent) {
			view.seen(task, event)
			if asEvents && writing == nil {
				writing = c.printEvent(event.GetSeq(), event)
			}
		},
		Note: func(text string) {
			view.aside()
			c.note("%s", text)
		},
	}
	end, err := f.Follow(ctx)
	view.aside()
	switch {
	case err != nil:
		return err
	case writing != nil:
		return writing
	}
	if got, err = client.GetCrawlTask(ctx, &taskmanagerv1.GetCrawlTaskRequest{TaskId: task}); err != nil {
		return err
	}
	var totals crawlTotals
	totals.add(end)
	switch {
	case asJSON:
		if err := c.printJSON(got.GetTask()); err != nil {
			return err
		}
	case !asEvents:
		c.note("%s: %s, %s", task, taskState(got.GetTask()), totals.words())
	}
	if err := crawlEnd(task, end, got.GetTask().GetErrorMessage()); err != nil {
		return err
	}
	return totals.exit()
}
