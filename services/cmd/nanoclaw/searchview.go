package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/terminal"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
)

const (
	// maxSnippet is the longest snippet shown, in characters.
	maxSnippet = 300
	// skippedFor is the outcome of an engine that lacks options; only an
	// explanation tells of it.
	skippedFor = "UNSUPPORTED_OPTION"
)

func (c *cli) printResults(res *searchv1.SearchResponse, explain bool) error {
	out := c.result()
	for i, r := range res.GetResults() {
		_, err := fmt.Fprintf(out, "%d. %s\n   %s\n", i+1, terminal.Line(r.GetTitle(), maxCell), r.GetUrl())
		if err != nil {
			return err
		}
		lines := []string{dated(r)}
		if explain {
			lines = append(lines, "["+sources(r)+"]")
		}
		for _, p := range r.GetPassages() {
			lines = append(lines, "> "+terminal.Line(p.GetText(), maxSnippet))
		}
		for _, line := range lines {
			if line == "" {
				continue
			}
			if _, err := fmt.Fprintf(out, "   %s\n", line); err != nil {
				return err
			}
		}
	}
	c.aboutAnswer(res)
	return nil
}

// indexes is how many independent indexes the results are of. Two engines that
// show one index are one witness.
func indexes(res *searchv1.SearchResponse) int {
	seen := map[string]bool{}
	for _, r := range res.GetResults() {
		for _, s := range r.GetSources() {
			seen[s.GetFamily()] = true
		}
	}
	return len(seen)
}

// dated is the snippet of a result behind its date.
func dated(r *searchv1.SearchResult) string {
	snippet := terminal.Line(r.GetSnippet(), maxSnippet)
	if d := r.GetPublishedAt(); d != "" && snippet != "" {
		return d + ": " + snippet
	}
	return snippet
}

// sources are the engines that returned a result, with its rank.
func sources(r *searchv1.SearchResult) string {
	var parts []string
	for _, s := range r.GetSources() {
		parts = append(parts, fmt.Sprintf("%s %d", s.GetProvider(), s.GetRank()))
	}
	if l := r.GetLanguage(); l != "" {
		parts = append(parts, l)
	}
	return strings.Join(parts, ", ")
}

// aboutAnswer says what the results do not show.
func (c *cli) aboutAnswer(res *searchv1.SearchResponse) {
	if res.GetStale() {
		c.note("nobody answered now: this is the answer of %s", res.GetAnsweredAt())
	}
	if q := res.GetAlteredQuery(); q != "" {
		c.note("the engine searched for %q instead", q)
	}
	if o := res.GetDroppedOptions(); len(o) > 0 {
		c.note("no engine in question knows these options, so the results do not heed them: %s", strings.Join(o, ", "))
	}
	if n := res.GetFilteredOut(); n > 0 {
		c.note("the domain filter took out %s", plural(int(n), "result"))
	}
	if len(res.GetResults()) == 0 {
		words, _, _ := strings.Cut(res.GetMarkdown(), "\n")
		c.note("%s: %s", res.GetOutcome(), words)
	}
	if cost := res.GetCostUsd(); cost > 0 {
		c.note("the search cost $%.4g", cost)
	}
}

// printAttempt says how an attempt ended.
func (c *cli) printAttempt(a *searchv1.Attempt, explain bool) {
	switch {
	case a.GetSkipped() && (explain || a.GetOutcome() != skippedFor):
		c.note("%s: %s, %s", a.GetProvider(), a.GetOutcome(), a.GetDetail())
		return
	case a.GetSkipped():
		return
	}
	line := a.GetProvider() + ": " + a.GetOutcome()
	if answered(a) { // nobody counts what is no answer
		line += ", " + plural(int(a.GetResultCount()), "result")
	}
	line += fmt.Sprintf(" in %d ms", a.GetLatencyMs())
	if a.GetDetail() != "" {
		line += " (" + a.GetDetail() + ")"
	}
	switch a.GetCache() {
	case "HIT":
		line += ", from the cache"
	case "STALE":
		line += ", an old answer"
	}
	if explain {
		line += details(a)
	}
	c.note("%s", line)
}

// answered reports whether an engine answered, be it with nothing.
func answered(a *searchv1.Attempt) bool {
	return strings.HasPrefix(a.GetOutcome(), "OK") || strings.HasPrefix(a.GetOutcome(), "EMPTY_")
}

// details is what only an explanation tells of an attempt.
func details(a *searchv1.Attempt) string {
	parts := []string{"index " + a.GetFamily()}
	if s := a.GetHttpStatus(); s > 0 {
		parts = append(parts, fmt.Sprintf("HTTP %d", s))
	}
	if n := a.GetFilteredOut(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d filtered out", n))
	}
	if s := a.GetRetryAfterSeconds(); s > 0 {
		parts = append(parts, fmt.Sprintf("again in %d s", s))
	}
	if d := a.GetDroppedOptions(); len(d) > 0 {
		parts = append(parts, "not expressed: "+strings.Join(d, ", "))
	}
	if a.GetCostUsd() > 0 {
		parts = append(parts, fmt.Sprintf("$%.4g", a.GetCostUsd()))
	}
	return "; " + strings.Join(parts, "; ")
}

func (c *cli) searchProviders() *cobra.Command {
	p := peerFlags{beside: true} // health and allowances are those of the server
	var asJSON bool
	cmd := &cobra.Command{
		Use: "providers", Short: "List the search engines: set up, well, and what is left of their allowance", Args: exactly(0),
		Long: `List the search engines: which are set up, in which order they are asked, how they
have been doing, and what is left of their allowance, as the server that uses the
data folder knows it; without one they have no past. None of them is asked. To
search for the word itself: nanoclaw search -- providers`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.call(cmd, &p, []string{suite.TargetSearch}, func(ctx context.Context, to *peer) error {
				res, err := searchv1.NewSearchServiceClient(to).ListProviders(ctx, &searchv1.ListProvidersRequest{})
				if err != nil {
					return err
				}
				if asJSON {
					return c.printJSON(res)
				}
				var rows [][]string
				for _, p := range res.GetProviders() {
					rows = append(rows, []string{p.GetName(), p.GetFamily(), turnOf(p), healthOf(p), latencyOf(p), costOf(p), limitsOf(p.GetLimits()), p.GetMissing()})
				}
				return c.table("NAME\tINDEX\tASKED\tHEALTH\tLATENCY\tCOST\tLEFT\tLACKS", rows)
			})
		},
	}
	p.addPeer(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

// turnOf says when an engine is asked.
func turnOf(p *searchv1.SearchProvider) string {
	switch {
	case !p.GetConfigured():
		return "not set up"
	case p.GetPosition() == 0:
		return "by name"
	}
	return fmt.Sprint(p.GetPosition())
}

func healthOf(p *searchv1.SearchProvider) string {
	h := p.GetHealth()
	switch {
	case !p.GetConfigured():
		return "-"
	case h.GetState() == "closed":
		return "well"
	case h.GetState() == "half_open":
		return "to be tried after " + h.GetReason()
	}
	if h.GetUntil() == "" {
		return h.GetReason() + ", until restarted"
	}
	return h.GetReason() + " until " + h.GetUntil()
}

func latencyOf(p *searchv1.SearchProvider) string {
	if p.GetLatencyMs() == 0 {
		return "-"
	}
	return fmt.Sprintf("%d ms", p.GetLatencyMs())
}

func costOf(p *searchv1.SearchProvider) string {
	if p.GetCostUsd() == 0 {
		return "free"
	}
	return fmt.Sprintf("$%.4g", p.GetCostUsd())
}

// shortWindow is the longest window, in seconds, that is told by its length.
const shortWindow = 60

// limitsOf is what is left of each window that the engine told of.
func limitsOf(limits []*searchv1.ProviderLimit) string {
	var parts []string
	for _, l := range limits {
		part := l.GetName()
		switch {
		case l.Remaining != nil:
			part = fmt.Sprintf("%d %s", l.GetRemaining(), part)
			if l.GetLimit() > 0 {
				part += fmt.Sprintf(" of %d", l.GetLimit())
			}
		case l.GetLimit() > 0: // a window that has ended: all of the next one
			part = fmt.Sprintf("%d %s", l.GetLimit(), part)
		}
		if s := l.GetPeriodSeconds(); s > 0 && s <= shortWindow {
			part += fmt.Sprintf(" each %d s", s)
		}
		if l.GetResetsAt() != "" {
			part += " until " + l.GetResetsAt()
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, "; ")
}
