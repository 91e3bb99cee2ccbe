package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/jsonlines"
	"github.com/nanoclaw/nanoclaw/services/fetcher"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
	"github.com/nanoclaw/nanoclaw/services/search"
)

// inspectCommand shows what the services make of an input: their own functions,
// without a service, a network or a configuration.
func (c *cli) inspectCommand() *cobra.Command {
	cmd := group("inspect", "Show what is made of an input: JSON Lines in, JSON Lines out",
		c.inspector("url", "Judge addresses: {url} -> {url, verdict, reason}", []string{"id", "url"}, inspectURL),
		c.inspector("page", "Read pages: {id, url, path|html|html_base64, content_type?} -> what a fetch reads", []string{"id"}, inspectPage),
		c.inspector("stream", "Read answers of models: {name, status, headers, wire, profile?} -> text, reasoning, calls, error", []string{"name"}, inspectStream),
		c.inspector("args", "Read arguments that a model wrote: {name, input, finish?} -> {name, ok, value, repairs, error}", []string{"name"}, inspectArgs),
		c.inspector("results", "Read pages of search engines: {id, provider, query, status, headers, path|body} -> outcome and results", []string{"id"}, inspectResults),
	)
	cmd.Long = `Show what NanoClaw makes of an input, with the very functions that its services
use. No service, no network, no configuration.

JSON Lines in on stdin, JSON Lines out on stdout, one answer a line in the same
order. A line that cannot be handled gives {"error": ...} and the rest goes on.`
	return cmd
}

// inspector is a command that answers every line of stdin. keys are repeated
// beside an error.
func (c *cli) inspector(use, short string, keys []string, answer func([]byte) (any, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: exactly(0),
		RunE: func(*cobra.Command, []string) error {
			return jsonlines.Handle(c.stdin, c.stdout, keys, answer)
		},
	}
}

// inspectedURL is the answer to one address.
type inspectedURL struct {
	URL     string `json:"url"`
	Verdict string `json:"verdict"`
	Reason  string `json:"reason"`
}

func inspectURL(line []byte) (any, error) {
	var in struct {
		URL *string `json:"url"`
	}
	if err := jsonlines.Decode(line, &in); err != nil {
		return nil, err
	}
	if in.URL == nil {
		return nil, errors.New("url: is missing")
	}
	d := netguard.Classify(*in.URL)
	return inspectedURL{URL: *in.URL, Verdict: d.Verdict, Reason: d.Reason}, nil
}

func inspectPage(line []byte) (any, error) {
	var in fetcher.PageInput
	if err := jsonlines.Decode(line, &in); err != nil {
		return nil, err
	}
	return fetcher.InspectPage(in)
}

func inspectResults(line []byte) (any, error) {
	var in search.InspectInput
	if err := jsonlines.Decode(line, &in); err != nil {
		return nil, err
	}
	var has struct{ Path, Body *string } // an empty body is an answer, too
	if err := jsonlines.Decode(line, &has); err != nil {
		return nil, err
	}
	switch {
	case in.Provider == "":
		return nil, errors.New("provider: is missing")
	case has.Path == nil && has.Body == nil:
		return nil, errors.New("one of path and body is needed")
	}
	return search.InspectResults(in)
}
