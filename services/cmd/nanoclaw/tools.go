package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
)

// idempotencyKey is the metadata that makes a repeated request have its effect
// once.
const idempotencyKey = "idempotency-key"

// maxArgumentsBytes is the longest argument text read from stdin.
const maxArgumentsBytes = 1 << 20

func (c *cli) toolsCommand() *cobra.Command {
	return group("tools", "List tools, show one, run one without a model", c.toolsList(), c.toolsShow(), c.toolsInvoke())
}

// toolService is call for the service that knows all tools.
func (c *cli) toolService(cmd *cobra.Command, p *peerFlags, do func(context.Context, orchestratorv1.ToolServiceClient) error) error {
	return c.call(cmd, p, []string{suite.TargetOrchestrator}, func(ctx context.Context, to *peer) error {
		return do(ctx, orchestratorv1.NewToolServiceClient(to))
	})
}

func (c *cli) toolsList() *cobra.Command {
	var p peerFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List every tool", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.toolService(cmd, &p, func(ctx context.Context, client orchestratorv1.ToolServiceClient) error {
				res, err := client.ListTools(ctx, &orchestratorv1.ListToolsRequest{})
				if err != nil {
					return err
				}
				if asJSON {
					return c.printJSON(res)
				}
				var rows [][]string
				for _, t := range res.GetTools() {
					rows = append(rows, []string{t.GetName(), t.GetProvider(), t.GetEffect(), t.GetSink(), toolState(t), t.GetTitle()})
				}
				return c.table("NAME\tPROVIDER\tEFFECT\tSINK\tSTATE\tTITLE", rows)
			})
		},
	}
	p.addPeer(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

// toolState says what happens when the tool is called.
func toolState(t *orchestratorv1.ToolInfo) string {
	switch {
	case !t.GetEnabled():
		return "off"
	case t.GetAsks():
		return "asks"
	}
	return "on"
}

func (c *cli) toolsShow() *cobra.Command {
	var p peerFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show a tool with its arguments", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.toolService(cmd, &p, func(ctx context.Context, client orchestratorv1.ToolServiceClient) error {
				res, err := client.ListTools(ctx, &orchestratorv1.ListToolsRequest{})
				if err != nil {
					return err
				}
				var names []string
				for _, t := range res.GetTools() {
					if t.GetName() == args[0] {
						return c.showTool(t, asJSON)
					}
					names = append(names, t.GetName())
				}
				return &exitError{exitNotFound, fmt.Errorf("there is no tool %q%s", args[0],
					didYouMean("", args[0], names, "; the tools are "+strings.Join(names, ", ")))}
			})
		},
	}
	p.addPeer(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

func (c *cli) showTool(t *orchestratorv1.ToolInfo, asJSON bool) error {
	if asJSON {
		return c.printJSON(t)
	}
	schema, err := encodeJSON(t.GetParameters())
	if err != nil {
		return err
	}
	var arguments bytes.Buffer
	if err := json.Indent(&arguments, schema, "", "  "); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.result(), "%s: %s\nprovider %s, effect %s, sink %s, version %s, %s\n\n%s\n\narguments:\n%s\n",
		t.GetName(), t.GetTitle(), t.GetProvider(), t.GetEffect(), t.GetSink(), t.GetVersion(), toolState(t), t.GetDescription(), arguments.Bytes())
	return err
}

func (c *cli) toolsInvoke() *cobra.Command {
	var p peerFlags
	var asJSON bool
	req := &orchestratorv1.InvokeToolRequest{}
	var key string
	cmd := &cobra.Command{
		Use: "invoke NAME [ARGUMENTS]", Short: "Run a tool with arguments as JSON (- reads them from stdin)", Args: between(1, 2),
		Example: `  nanoclaw tools invoke fetch_page '{"url":"https://go.dev/doc/"}'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := c.arguments(args[1:])
			if err != nil {
				return err
			}
			req.Name, req.ArgumentsJson = args[0], text
			if key == "" {
				key = rand.Text()
			}
			return c.toolService(cmd, &p, func(ctx context.Context, client orchestratorv1.ToolServiceClient) error {
				res, err := client.InvokeTool(metadata.AppendToOutgoingContext(ctx, idempotencyKey, key), req)
				if err != nil {
					return askApproval(err)
				}
				return c.printToolResult(res, asJSON)
			})
		},
	}
	p.addPeer(cmd)
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print the result with what is known of the call as one JSON document")
	f.StringVar(&req.ConfirmArgsSha256, "confirm", "", "hash of the arguments, to say yes to a tool that asks")
	f.StringVar(&key, "idempotency-key", "", "the same key again has the effect once (default: a new one)")
	return cmd
}

// arguments are the JSON object on the command line or on stdin.
func (c *cli) arguments(args []string) (string, error) {
	if len(args) == 0 {
		return "{}", nil
	}
	text := args[0]
	if text == "-" {
		read, err := io.ReadAll(io.LimitReader(c.stdin, maxArgumentsBytes+1))
		if err != nil {
			return "", fmt.Errorf("read arguments from stdin: %w", err)
		}
		if len(read) > maxArgumentsBytes {
			return "", usagef("arguments: over %d bytes", maxArgumentsBytes)
		}
		text = string(read)
	}
	var object map[string]json.RawMessage
	var syntax *json.SyntaxError
	switch err := json.Unmarshal([]byte(text), &object); {
	case errors.As(err, &syntax):
		return "", usagef("arguments: not valid JSON: %w at byte %d; give an object such as '{\"url\":\"https://example.com\"}'", syntax, syntax.Offset)
	case err != nil, object == nil:
		return "", usagef("arguments: must be a JSON object such as '{\"url\":\"https://example.com\"}'")
	}
	return text, nil
}

// askApproval adds how to say yes to a refusal that asks for it.
func askApproval(err error) error {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetReason() == "APPROVAL_REQUIRED" {
			return &exitError{exitDenied, fmt.Errorf("%s Run it again with --confirm %s to say yes",
				status.Convert(err).Message(), info.GetMetadata()["args_sha256"])}
		}
	}
	return err
}

// printToolResult prints the result; a call that failed in the tool's own terms
// ends with exit code 1.
func (c *cli) printToolResult(res *orchestratorv1.InvokeToolResponse, asJSON bool) error {
	r := res.GetResult()
	var err error
	if asJSON {
		err = c.printJSON(r)
	} else {
		var out bytes.Buffer
		if json.Indent(&out, []byte(r.GetContent()), "", "  ") != nil {
			out.Reset()
			out.WriteString(r.GetContent())
		}
		_, err = fmt.Fprintln(c.result(), out.String())
	}
	if err != nil {
		return err
	}
	if r.GetTruncated() {
		c.note("the result was cut; the whole of it is kept as %s", r.GetResultId())
	}
	if r.GetIsError() {
		return &exitError{exitFailure, fmt.Errorf("%s failed after %d ms", r.GetName(), r.GetDurationMs())}
	}
	return nil
}
