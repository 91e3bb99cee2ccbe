package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/spf13/cobra"

	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/crawl"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/pagecontent"
)

// crawlFlags are what crawl can be told.
type crawlFlags struct {
	peerFlags
	outFlags

	list           string
	kind           choice
	parallel       int32
	asJSON, detach bool

	chosenFormat   string
	chosenParallel bool
}

func (c *cli) crawlCommand() *cobra.Command {
	f := crawlFlags{outFlags: newOutFlags(), kind: choice{value: "text", allowed: pagecontent.Types()}}
	cmd := &cobra.Command{
		Use: "crawl URL...", Short: "Fetch many pages and read them",
		Long: `Fetch many pages as a crawl task, politely to every host, and write what was
read as it comes. The addresses are those on the command line and those of
--file, one a line. A task has at most 50 addresses; more addresses are several
tasks.

Ctrl+C cancels what is not fetched yet and writes what is there, a second one
leaves at once. Exit code 0 when every page came, 5 when some did, 1 when none
did.

The file of --out is there whole or not at all, one that is there is replaced
when at least one page came, and keeps its rights; what is no file, such as a
pipe or /dev/stdout, is written to as pages come.

In CSV, a cell that a spreadsheet would take for a formula gets an ' before it.`,
		Example: `  nanoclaw crawl https://go.dev/doc/ https://go.dev/blog/ --out pages.md
  nanoclaw crawl --file addresses.txt --format jsonl | jq -r .url
  nanoclaw crawl --file - --extract-type links --out links.csv < addresses.txt`,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, pair := range [][2]string{{"json", "format"}, {"json", "out"}, {"detach", "format"}, {"detach", "out"}} {
				if err := exclusive(cmd, pair[0], pair[1]); err != nil {
					return err
				}
			}
			f.chosenFormat = f.chosen(cmd.Flags().Changed("format"))
			f.chosenParallel = cmd.Flags().Changed("parallel")
			addresses, err := c.addresses(args, f.list)
			if err != nil {
				return err
			}
			return c.crawl(cmd, &f, addresses)
		},
	}
	f.addPeer(cmd)
	f.addOutput(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.list, "file", "", "file with an address a line (- reads stdin)")
	fs.Var(&f.kind, "extract-type", "what to extract")
	fs.Int32Var(&f.parallel, "parallel", 0, "pages of a task fetched at the same time, 1 to 5 (default 3)")
	fs.BoolVar(&f.asJSON, "json", false, "print everything as one JSON document at the end")
	fs.BoolVar(&f.detach, "detach", false, "print the id of each task and leave it to the server")
	return cmd
}

// addOutput gives a command the flags of the results' form and place.
func (o *outFlags) addOutput(cmd *cobra.Command) {
	cmd.Flags().Var(&o.format, "format", "form of the results (default md, or by the name of --out)")
	cmd.Flags().StringVar(&o.file, "out", "", "file of the results, or a pipe or device (default stdout)")
}

// crawl makes the tasks and follows them.
func (c *cli) crawl(cmd *cobra.Command, f *crawlFlags, addresses []string) (err error) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	began := time.Now()
	// Before signals are caught: the opening of a pipe waits for its reader.
	to, err := c.findPlace(f.file)
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, endSignals()...)
	defer signal.Stop(signals)
	out, err := to.open()
	if err != nil {
		return err
	}
	defer func() {
		if out.discard() {
			c.note("%s is left as it was", out.path)
		}
	}()
	server, err := c.connectUntil(ctx, cmd, &f.peerFlags, signals, asOwner)
	if err != nil {
		return err
	}
	defer func() {
		if closing := server.close(); err == nil {
			err = closing
		}
	}()
	job := &crawlJob{
		cli: c, flags: f, tasks: taskmanagerv1.NewCrawlTaskServiceClient(server), out: newResultWriter(out, f.chosenFormat),
		batches: slices.Collect(slices.Chunk(addresses, taskAddresses)), view: c.newCrawlView(len(addresses), f.asJSON),
	}
	if n := len(job.batches); n > 1 {
		c.note("%d addresses are %d tasks of at most %d", len(addresses), n, taskAddresses)
	}
	if f.detach {
		return server.explain(job.detach(ctx, server.unreachable == ""))
	}
	err = server.explain(job.run(ctx, signals))
	if err != nil && !errors.Is(err, errCrawlStopped) {
		return err
	}
	return job.finish(out, time.Since(began), err)
}

// create makes the task of one batch.
func (j *crawlJob) create(ctx context.Context, batch []string) (*taskmanagerv1.CreateCrawlTaskResponse, error) {
	req := &taskmanagerv1.CreateCrawlTaskRequest{Urls: batch, ExtractType: j.flags.kind.value}
	if j.flags.chosenParallel {
		req.Parallel = &j.flags.parallel
	}
	begun := false
	j.lock(func() { begun = j.begun })
	made, err := crawl.Create(ctx, j.tasks, req, begun, j.aside)
	if err == nil {
		j.lock(func() { j.begun = true })
	}
	return made, err
}

// detach makes the tasks and leaves them.
func (j *crawlJob) detach(ctx context.Context, inProcess bool) error {
	var made []json.RawMessage
	for _, batch := range j.batches {
		res, err := j.create(ctx, batch)
		if err != nil {
			return err
		}
		if j.flags.asJSON {
			text, err := encodeJSON(res)
			if err != nil {
				return err
			}
			made = append(made, text)
			continue
		}
		if _, err := fmt.Fprintln(j.stdout, res.GetTaskId()); err != nil {
			return err
		}
	}
	if inProcess {
		j.note("no server runs on this data folder: the tasks go on when one does, or with \"nanoclaw tasks watch ID\"")
	}
	if j.flags.asJSON {
		return j.printDocument(struct {
			Tasks []json.RawMessage `json:"tasks"`
		}{made})
	}
	return nil
}

// finish puts the results in their place, says how it went, and gives the exit
// code.
func (j *crawlJob) finish(out *output, took time.Duration, stopped error) error {
	if j.flags.asJSON {
		if err := j.printDocument(j.document()); err != nil {
			return err
		}
	} else {
		words := fmt.Sprintf("%s in %s", j.totals.words(), took.Round(time.Millisecond))
		// A file with pages is not given up for one without any.
		if !out.replaces || j.totals.Succeeded > 0 {
			if err := out.keep(); err != nil {
				return err
			}
			if out.path != "" {
				words += ", written to " + out.path
			}
		}
		j.note("%s", words)
	}
	switch {
	case j.timedOut:
		return j.late()
	case stopped != nil:
		return errInterrupted
	case j.problem != nil:
		return j.problem
	}
	return j.totals.exit()
}
