package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/spelling"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
)

// searchOptions are the flags of search.
type searchOptions struct {
	req       searchv1.SearchRequest
	providers []string
	most      int32
	page      int32
	freshness freshness
	mode      choice
	safe      choice
	cache     choice
	explain   bool
	asJSON    bool
}

func (c *cli) searchCommand() *cobra.Command {
	var p peerFlags
	o := searchOptions{
		mode:  choice{allowed: []string{"single", "fused"}},
		safe:  choice{allowed: []string{"off", "moderate", "strict"}},
		cache: choice{allowed: []string{"use", "refresh", "off"}},
	}
	cmd := &cobra.Command{
		Use: "search QUERY", Short: "Search the web", Args: exactly(1),
		Example: `  nanoclaw search "go 1.26 release notes" --max-results 3
  nanoclaw search "sqlite wal" --allowed-domain sqlite.org --json
  nanoclaw search "harbour strike" --news --freshness week --language en --explain
  nanoclaw search "bge-m3" --mode fused
  nanoclaw search providers`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := exclusive(cmd, "allowed-domain", "blocked-domain"); err != nil {
				return err
			}
			if err := filled(cmd, "provider", "allowed-domain", "blocked-domain", "language", "region"); err != nil {
				return err
			}
			if err := readable(cmd, args); err != nil {
				return err
			}
			o.take(cmd.Flags(), args[0])
			if word := args[0]; spelling.Nearest(word, []string{"providers"}) != "" {
				c.note("searching for %q; the list of engines is %q", word, "nanoclaw search providers")
			}
			return c.call(cmd, &p, []string{suite.TargetSearch}, func(ctx context.Context, to *peer) error {
				return c.search(ctx, searchv1.NewSearchServiceClient(to), &o)
			})
		},
	}
	p.addPeer(cmd)
	o.add(cmd.Flags())
	cmd.AddCommand(c.searchProviders())
	return cmd
}

func (o *searchOptions) add(f *pflag.FlagSet) {
	f.StringSliceVar(&o.providers, "provider", nil, "ask this engine alone, without a fallback; several with commas: in this order")
	f.Var(&o.mode, "mode", "single: one engine after the other until one answers; fused: independent ones at once, merged (default single)")
	f.Int32Var(&o.most, "max-results", 0, "most results, 1 to 10 (default as configured, 5)")
	f.Int32Var(&o.page, "page", 0, "page of results (default 1)")
	f.Var(&o.freshness, "freshness", "how old results may be, or the days on which they were published, such as 2025-01-01..2025-03-31")
	f.StringVar(&o.req.Language, "language", "", "language of results, such as en or zh-Hans")
	f.StringVar(&o.req.Region, "region", "", "country to search for, such as US")
	f.Var(&o.safe, "safe-search", "how strictly adult content is left out (default as the engine does)")
	f.BoolVar(&o.req.News, "news", false, "news instead of pages")
	f.StringSliceVar(&o.req.AllowedDomains, "allowed-domain", nil, "only results of this domain; may be repeated")
	f.StringSliceVar(&o.req.BlockedDomains, "blocked-domain", nil, "no results of this domain; may be repeated")
	f.BoolVar(&o.req.Passages, "passages", false, "the text of the pages too, where the engine has it")
	f.Int32Var(&o.req.MaxTokens, "max-tokens", 0, "budget of all passages together in tokens (default as the engine sends them)")
	f.BoolVar(&o.req.StrictOptions, "strict", false, "fail when no engine can express an option, instead of leaving it out and saying so")
	f.Var(&o.cache, "cache", "use: answers of the last minutes will do; refresh: ask in any case; off: and keep nothing (default use)")
	f.BoolVar(&o.explain, "explain", false, "tell of every engine what was asked of it, what came of it, and why it was passed over")
	f.BoolVar(&o.asJSON, "json", false, "print one JSON document")
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		switch name { // shorter names of the same
		case "allow", "allowed-domains":
			name = "allowed-domain"
		case "block", "blocked-domains":
			name = "blocked-domain"
		}
		return pflag.NormalizedName(name)
	})
}

// take puts the flags into the request.
func (o *searchOptions) take(f *pflag.FlagSet, query string) {
	o.req.Query = query
	if f.Changed("max-results") {
		o.req.MaxResults = &o.most
	}
	if f.Changed("page") {
		o.req.Page = &o.page
	}
	var named []string // each once
	for _, name := range o.providers {
		if name = strings.TrimSpace(name); !slices.Contains(named, name) {
			named = append(named, name)
		}
	}
	if len(named) == 1 {
		o.req.Provider = named[0]
	} else {
		o.req.Providers = named
	}
	o.req.Mode, o.req.SafeSearch, o.req.Cache = o.mode.value, o.safe.value, o.cache.value
	o.req.Freshness, o.req.PublishedFrom, o.req.PublishedTo = o.freshness.window, o.freshness.from, o.freshness.to
}

// search searches and tells on the way how each attempt ended.
func (c *cli) search(ctx context.Context, client searchv1.SearchServiceClient, o *searchOptions) error {
	stream, err := client.SearchStream(ctx, &o.req)
	if err != nil {
		return err
	}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return errors.New("the search ended without an answer")
		}
		if err != nil {
			if o.explain && !o.asJSON {
				c.notSetUp(ctx, client)
			} else {
				c.failedAttempts(err)
			}
			return err
		}
		switch {
		case m.GetFinal() != nil:
			res := m.GetFinal().GetResponse()
			if o.asJSON {
				return c.printJSON(res)
			}
			if err := c.printResults(res, o.explain); err != nil {
				return err
			}
			if o.mode.value == "fused" && indexes(res) == 1 {
				c.note("several engines were wanted; these results are of one index alone, so none is confirmed by another")
			}
			if o.explain {
				c.notSetUp(ctx, client)
			}
			return nil
		case o.asJSON:
		case m.GetStarted() != nil && o.explain:
			c.note("%s, to be asked: %s", m.GetStarted().GetMode(), strings.Join(m.GetStarted().GetPlan(), ", "))
		case m.GetAttemptFinished() != nil:
			c.printAttempt(m.GetAttemptFinished().GetAttempt(), o.explain)
		}
	}
}

// failedAttempts says which engines were asked when none could answer.
func (c *cli) failedAttempts(err error) {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetMetadata()["attempts"] != "" {
			asked, passed := attemptWords(info.GetMetadata()["attempts"])
			if asked != "" {
				c.note("asked: %s", asked)
			}
			if passed != "" {
				c.note("not asked: %s", passed)
			}
		}
	}
}

// attemptWords parts the attempts of an error into those made and those, in
// brackets, that were not.
func attemptWords(attempts string) (asked, passed string) {
	var made, not []string
	for a := range strings.SplitSeq(attempts, ", ") {
		if inner, ok := strings.CutPrefix(a, "("); ok {
			not = append(not, strings.TrimSuffix(inner, ")"))
		} else {
			made = append(made, a)
		}
	}
	return strings.Join(made, ", "), strings.Join(not, ", ")
}

// notSetUp says which engines cannot be asked, and what they lack.
func (c *cli) notSetUp(ctx context.Context, client searchv1.SearchServiceClient) {
	res, err := client.ListProviders(ctx, &searchv1.ListProvidersRequest{})
	if err != nil {
		c.note("the engines that are not set up cannot be told: %s", status.Convert(err).Message())
		return
	}
	for _, p := range res.GetProviders() {
		if !p.GetConfigured() {
			c.note("%s: not set up: %s", p.GetName(), p.GetMissing())
		}
	}
}

// freshness is a flag that takes a window or a span of days.
type freshness struct{ window, from, to string }

// windows are the words that freshness takes.
var windows = []string{"day", "week", "month", "year"}

func (f *freshness) String() string {
	if f.from != "" || f.to != "" {
		return f.from + ".." + f.to
	}
	return f.window
}

// Type is shown in the help.
func (*freshness) Type() string { return strings.Join(windows, "|") + "|FROM..TO" }

// Set refuses every other word and names the nearest one, and what is no day.
func (f *freshness) Set(word string) error {
	if from, to, span := strings.Cut(word, ".."); span && strings.TrimSpace(from+to) != "" {
		next := freshness{from: strings.TrimSpace(from), to: strings.TrimSpace(to)}
		for _, day := range []string{next.from, next.to} {
			if _, err := time.Parse(time.DateOnly, day); day != "" && err != nil {
				return wordedError(fmt.Sprintf("%q is no day; give days such as 2025-01-01..2025-03-31", day))
			}
		}
		*f = next
		return nil
	}
	one := choice{allowed: windows}
	if err := one.Set(word); err != nil {
		return wordedError(fmt.Sprintf("%v; or give days such as 2025-01-01..2025-03-31", err))
	}
	*f = freshness{window: one.value}
	return nil
}
