package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/terminal"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
)

func (c *cli) fetchCommand() *cobra.Command {
	var p peerFlags
	var asJSON bool
	var most int32
	kind := choice{value: "text", allowed: []string{"text", "links", "images", "structured"}}
	req := &fetcherv1.FetchRequest{}
	cmd := &cobra.Command{
		Use: "fetch URL", Short: "Fetch a page and read it", Args: exactly(1),
		Example: `  nanoclaw fetch https://go.dev/doc/
  nanoclaw fetch https://go.dev/doc/ --type links --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Url, req.ExtractType = args[0], kind.value
			if cmd.Flags().Changed("max-chars") {
				req.MaxChars = &most
			}
			return c.call(cmd, &p, []string{suite.TargetFetcher}, func(ctx context.Context, to *peer) error {
				res, err := fetcherv1.NewFetcherServiceClient(to).Fetch(ctx, req)
				if err != nil {
					return err
				}
				if asJSON {
					return c.printJSON(res)
				}
				if err := printContent(c.result(), kind.value, res.GetContent()); err != nil {
					return err
				}
				c.aboutPage(res)
				return nil
			})
		},
	}
	p.addPeer(cmd)
	f := cmd.Flags()
	f.Var(&kind, "type", "what to extract")
	f.Int32Var(&req.Offset, "offset", 0, "first character of the text, to read on")
	f.Int32Var(&most, "max-chars", 0, "most characters of text, 100 to 1000000 (default 10000)")
	f.BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

// printContent prints what was extracted: text as it is, links and images one a
// line with the address first, parts of a page as Markdown.
func printContent(w io.Writer, kind string, content *fetcherv1.PageContent) error {
	var out strings.Builder
	switch kind {
	case "links":
		for _, l := range content.GetLinks() {
			fmt.Fprintf(&out, "%s\t%s\n", l.GetUrl(), terminal.Line(l.GetText(), maxCell))
		}
	case "images":
		for _, i := range content.GetImages() {
			fmt.Fprintf(&out, "%s\t%s\n", i.GetSrc(), terminal.Line(i.GetAlt(), maxCell))
		}
	case "structured":
		writeStructured(&out, content.GetStructured())
	default:
		out.WriteString(content.GetText())
		if text := content.GetText(); text != "" && !strings.HasSuffix(text, "\n") {
			out.WriteByte('\n')
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func writeStructured(out *strings.Builder, page *fetcherv1.StructuredPage) {
	fmt.Fprintf(out, "title: %s\n", terminal.Line(page.GetTitle(), maxSnippet))
	for _, name := range slices.Sorted(maps.Keys(page.GetMeta())) {
		fmt.Fprintf(out, "%s: %s\n", name, terminal.Line(page.GetMeta()[name], maxSnippet))
	}
	for _, h := range page.GetHeadings() {
		fmt.Fprintf(out, "\n%s %s\n", strings.Repeat("#", int(h.GetLevel())), terminal.Line(h.GetText(), maxSnippet))
	}
	for _, p := range page.GetParagraphs() {
		fmt.Fprintf(out, "\n%s\n", p)
	}
}

// aboutPage says what is known of the page and how to read on.
func (c *cli) aboutPage(res *fetcherv1.FetchResponse) {
	m := res.GetMetadata()
	line := fmt.Sprintf("HTTP %d %s, %s", m.GetStatusCode(), http.StatusText(int(m.GetStatusCode())), m.GetDetectedType())
	if m.GetFinalUrl() != res.GetUrl() {
		line += ", from " + m.GetFinalUrl()
	}
	c.note("%s", line)
	for _, w := range res.GetWarnings() {
		c.note("warning: %s", w)
	}
	if res.GetTruncated() {
		c.note("cut: %d characters in all; read on with --offset %d", res.GetTotalChars(), res.GetNextOffset())
	}
}
