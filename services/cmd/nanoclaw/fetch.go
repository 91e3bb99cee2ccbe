package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	"github.com/nanoclaw/nanoclaw/services/fetcher"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/pagecontent"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
)

// formatHTML is how people call the source of a page, raw on the wire.
const formatHTML = "html"

// fetchFlags are the flags of fetch.
type fetchFlags struct {
	peerFlags

	format   choice
	base     string
	name     string
	offset   int32
	maxChars int32
	asJSON   bool
}

func (c *cli) fetchCommand() *cobra.Command {
	p := fetchFlags{format: choice{value: pagecontent.Text, allowed: []string{
		pagecontent.Text, pagecontent.Markdown, pagecontent.Links, pagecontent.Images, pagecontent.Structured, pagecontent.Metadata,
		pagecontent.Tables, pagecontent.Feed, formatHTML, pagecontent.Raw, pagecontent.FullText,
	}}}
	cmd := &cobra.Command{
		Use: "fetch URL|FILE|-", Short: "Fetch a page or read a document", Args: exactly(1),
		Long: `Fetch a page and read it, or read a file or stdin (-) without any network: HTML,
text, PDF, Word, Excel, PowerPoint, CSV, JSON, feeds, and the properties of images.

What it is is decided by its bytes first, then by what the server says, then by
its name. The content goes to stdout, what is known of it to stderr.`,
		Example: `  nanoclaw fetch https://go.dev/doc/ --format markdown
  nanoclaw fetch https://go.dev/doc/ --format links --json
  nanoclaw fetch report.pdf --max-chars 100000
  curl -s https://go.dev/ | nanoclaw fetch - --format links --base https://go.dev/
  nanoclaw fetch - --name crew.csv --format tables < exported`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.Contains(args[0], "://") {
				return c.fetchURL(cmd, &p, args[0])
			}
			return c.fetchFile(cmd, &p, args[0])
		},
	}
	p.addPeer(cmd)
	f := cmd.Flags()
	f.Var(&p.format, "format", "what to extract")
	f.StringVar(&p.base, "base", "", "address that relative links of a file are read against")
	f.StringVar(&p.name, "name", "", "name of what comes on stdin, such as crew.csv: it decides what the bytes do not")
	f.Int32Var(&p.offset, "offset", 0, "where to read on: as said by the answer before")
	f.Int32Var(&p.maxChars, "max-chars", 0, "most characters of text, 100 to 1000000 (default 10000)")
	f.BoolVar(&p.asJSON, "json", false, "print one JSON document")
	return cmd
}

// extract is the extract type of the format.
func (p *fetchFlags) extract() string {
	if p.format.value == formatHTML {
		return pagecontent.Raw
	}
	return p.format.value
}

func (c *cli) fetchURL(cmd *cobra.Command, p *fetchFlags, address string) error {
	switch {
	case cmd.Flags().Changed("base"):
		return usagef("--base is for files: a page knows its own address")
	case cmd.Flags().Changed("name"):
		return usagef("--name is for stdin: a page has its own")
	}
	req := &fetcherv1.FetchRequest{Url: address, ExtractType: p.extract(), Offset: p.offset}
	if cmd.Flags().Changed("max-chars") {
		req.MaxChars = &p.maxChars
	}
	return c.call(cmd, &p.peerFlags, []string{suite.TargetFetcher}, func(ctx context.Context, to *peer) error {
		done := c.busy("fetching " + address)
		res, err := fetcherv1.NewFetcherServiceClient(to).Fetch(ctx, req)
		done()
		if err != nil {
			return err
		}
		if p.asJSON {
			return c.printJSON(res)
		}
		if err := printContent(c.result(), p.extract(), res.GetContent(), res.GetMetadata()); err != nil {
			return err
		}
		c.aboutPage(res)
		return nil
	})
}

// Bounds of --max-chars, which the service knows, too.
const minChars, maxChars = 100, 1_000_000

// fetchFile reads a file in this process: a server reads none of its callers'.
func (c *cli) fetchFile(cmd *cobra.Command, p *fetchFlags, path string) error {
	switch {
	case cmd.Flags().Changed("server"):
		return usagef("--server is for addresses, which contain ://; a file is read here")
	case path != "-" && cmd.Flags().Changed("name"):
		return usagef("--name is for stdin: a file has its own")
	case p.offset < 0:
		return usagef("--offset: %d is less than 0", p.offset)
	case cmd.Flags().Changed("max-chars") && (p.maxChars < minChars || p.maxChars > maxChars):
		return usagef("--max-chars: %d is not between %d and %d", p.maxChars, minChars, maxChars)
	}
	ctx, stop := c.interruptible()
	defer stop()
	ctx, cancel := p.bound(ctx)
	defer cancel()
	in := fetcher.FileInput{Content: c.stdin, Name: p.name, Base: p.base, ExtractType: p.extract(), Offset: int(p.offset), MaxChars: int(p.maxChars)}
	if path != "-" {
		file, err := openDocument(path)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }() // it was only read
		in.Content, in.Name = file, path
	}
	done := c.busy("reading " + path)
	res, err := fetcher.ReadFile(ctx, in)
	done()
	if err != nil {
		return p.timedOut(ctx, err)
	}
	if p.asJSON {
		return c.printJSON(res)
	}
	if err := printContent(c.result(), p.extract(), res.GetContent(), res.GetMetadata()); err != nil {
		return err
	}
	c.aboutFile(res)
	return nil
}

// openDocument opens a file that is there and no folder.
func openDocument(path string) (*os.File, error) {
	file, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &exitError{exitNotFound, fmt.Errorf("there is no file %s; an address begins with https:// or http://", path)}
	case errors.Is(err, fs.ErrPermission):
		return nil, &exitError{exitDenied, fmt.Errorf("read %s: %w", path, pathReason(err))}
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", path, pathReason(err))
	}
	if info, err := file.Stat(); err == nil && info.IsDir() {
		_ = file.Close() // it was only looked at
		return nil, usagef("%s is a folder: name a file in it", path)
	}
	return file, nil
}

// aboutPage says what is known of the page and how to read on.
func (c *cli) aboutPage(res *fetcherv1.FetchResponse) {
	m := res.GetMetadata()
	line := fmt.Sprintf("HTTP %d %s, %s", m.GetStatusCode(), http.StatusText(int(m.GetStatusCode())), m.GetDetectedType())
	if m.GetFinalUrl() != res.GetUrl() {
		line += ", from " + m.GetFinalUrl()
	}
	c.note("%s", line+pagesOf(m))
	c.readOn(res.GetWarnings(), res.GetTruncated(), res.GetTotalChars(), res.GetNextOffset())
}

// aboutFile says the same of a file.
func (c *cli) aboutFile(res *fetcherv1.ExtractResponse) {
	c.note("%s", res.GetMetadata().GetDetectedType()+pagesOf(res.GetMetadata()))
	c.readOn(res.GetWarnings(), res.GetTruncated(), res.GetTotalChars(), res.GetNextOffset())
}

// pagesOf are the pages of a document, in words.
func pagesOf(m *fetcherv1.PageMetadata) string {
	noun := map[string]string{"spreadsheet": "sheet", "presentation": "slide"}[m.GetPageType()]
	switch {
	case m.GetPages() == 0:
		return ""
	case noun == "":
		noun = "page"
	}
	return ", " + plural(int(m.GetPages()), noun)
}

// readOn says what went less than well and where to read on.
func (c *cli) readOn(warnings []string, cut bool, total, next int32) {
	for _, w := range warnings {
		c.note("warning: %s", w)
	}
	switch {
	case cut && total > 0:
		c.note("cut: %d characters in all; read on with --offset %d", total, next)
	case cut:
		c.note("cut: read on with --offset %d", next)
	}
}
