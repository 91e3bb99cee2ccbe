package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/terminal"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
)

func (c *cli) searchCommand() *cobra.Command {
	var p peerFlags
	var asJSON bool
	var most int32
	req := &searchv1.SearchRequest{}
	cmd := &cobra.Command{
		Use: "search QUERY", Short: "Search the web", Args: exactly(1),
		Example: `  nanoclaw search "go 1.26 release notes" --max-results 3
  nanoclaw search "sqlite wal" --allow sqlite.org --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := exclusive(cmd, "allow", "block"); err != nil {
				return err
			}
			req.Query = args[0]
			if cmd.Flags().Changed("max-results") {
				req.MaxResults = &most
			}
			return c.call(cmd, &p, []string{suite.TargetSearch}, func(ctx context.Context, to *peer) error {
				res, err := searchv1.NewSearchServiceClient(to).Search(ctx, req)
				if err != nil {
					c.failedAttempts(err)
					return err
				}
				if asJSON {
					return c.printJSON(res)
				}
				return c.printResults(res)
			})
		},
	}
	p.addPeer(cmd)
	f := cmd.Flags()
	f.Int32Var(&most, "max-results", 0, "most results, 1 to 10 (default as configured, 5)")
	f.StringSliceVar(&req.AllowedDomains, "allow", nil, "only results of these domains")
	f.StringSliceVar(&req.BlockedDomains, "block", nil, "no results of these domains")
	f.StringVar(&req.Provider, "provider", "", "ask this engine alone, without a fallback: bing, duckduckgo, duckduckgo_lite")
	f.BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

func (c *cli) printResults(res *searchv1.SearchResponse) error {
	out := c.result()
	for i, r := range res.GetResults() {
		_, err := fmt.Fprintf(out, "%d. %s\n   %s\n", i+1, terminal.Line(r.GetTitle(), maxCell), r.GetUrl())
		if err != nil {
			return err
		}
		if snippet := terminal.Line(r.GetSnippet(), maxSnippet); snippet != "" {
			if d := r.GetPublishedAt(); d != "" {
				snippet = d + ": " + snippet
			}
			if _, err := fmt.Fprintf(out, "   %s\n", snippet); err != nil {
				return err
			}
		}
	}
	c.outcome(res)
	return nil
}

// maxSnippet is the longest snippet shown, in characters.
const maxSnippet = 300

// outcome says what happened, with every engine that was asked.
func (c *cli) outcome(res *searchv1.SearchResponse) {
	for _, a := range res.GetAttempts() {
		line := fmt.Sprintf("%s: %s, %s in %d ms", a.GetProvider(), a.GetOutcome(), plural(int(a.GetResultCount()), "result"), a.GetLatencyMs())
		if a.GetDetail() != "" {
			line += " (" + a.GetDetail() + ")"
		}
		c.note("%s", line)
	}
	if q := res.GetAlteredQuery(); q != "" {
		c.note("the engine searched for %q instead", q)
	}
	if n := res.GetFilteredOut(); n > 0 {
		c.note("the domain filter took out %s", plural(int(n), "result"))
	}
	if len(res.GetResults()) == 0 {
		c.note("no results: %s", res.GetOutcome())
	}
}

// failedAttempts says which engines were asked when none could answer.
func (c *cli) failedAttempts(err error) {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetMetadata()["attempts"] != "" {
			c.note("asked: %s", info.GetMetadata()["attempts"])
		}
	}
}
