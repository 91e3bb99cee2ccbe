package main

import (
	"context"
	"io"
	"os"
)

// roles are what this program can be beside the one that measures: each a
// process of its own that prints a line when it is ready, and ends with its
// standard input, so that none outlives the one that measures.
//
//	provider   a model provider that streams chunks on command
//	read       opens streams, reads them to their end and tells how long the
//	           chunks took
//	view       watches one run many times over SSE
//	site       web sites, each at a loopback address of its own, with pages made
//	           here or those of a folder
//	fetch      fetches addresses and reads their tags, and keeps nothing
//	plain      a gRPC server without anything, that gives one fixed answer
var roles = map[string]func(ctx context.Context, args []string) error{
	"provider": beProvider,
	"read":     beReader,
	"view":     beViewer,
	"plain":    bePlain,
	"site":     beSite,
	"fetch":    beFetcher,
}

// untilStdinEnds is a context that ends when the process that started this one
// closes its standard input, or is gone.
func untilStdinEnds(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return ctx, cancel
}
