package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
)

// pageSize is the page of a list; lists are read to their end.
const pageSize = 100

func (c *cli) tokenCommand() *cobra.Command {
	return group("token", "Make, list and revoke API tokens", c.tokenCreate(), c.tokenList(), c.tokenRevoke())
}

// identity is call for the service that keeps tokens.
func (c *cli) identity(cmd *cobra.Command, p *peerFlags, do func(context.Context, orchestratorv1.IdentityServiceClient) error) error {
	return c.call(cmd, p, []string{suite.TargetOrchestrator}, func(ctx context.Context, to *peer) error {
		return do(ctx, orchestratorv1.NewIdentityServiceClient(to))
	})
}

func (c *cli) tokenCreate() *cobra.Command {
	var p peerFlags
	var asJSON bool
	req := &orchestratorv1.CreateTokenRequest{}
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Make a token and print it, once", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Name = args[0]
			return c.identity(cmd, &p, func(ctx context.Context, client orchestratorv1.IdentityServiceClient) error {
				res, err := client.CreateToken(ctx, req)
				if err != nil {
					return err
				}
				if asJSON {
					return c.printJSON(res)
				}
				if _, err := fmt.Fprintln(c.stdout, res.GetToken()); err != nil {
					return err
				}
				info := res.GetTokenInfo()
				c.note("token %s (%s) may: %s; it ends: %s. Keep it, it cannot be shown again",
					info.GetName(), res.GetId(), strings.Join(info.GetScopes(), ", "), day(info.GetExpiresAt(), "never"))
				return nil
			})
		},
	}
	p.addPeer(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&req.Scopes, "scope", nil, "what it may do: chat, tools, search, fetch, crawl, code, files, usage, tokens or * (default: all but code and tokens)")
	f.Int32Var(&req.ExpiresInDays, "days", 0, "days until it ends (default: never)")
	f.BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

func (c *cli) tokenList() *cobra.Command {
	var p peerFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the tokens, newest first", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.identity(cmd, &p, func(ctx context.Context, client orchestratorv1.IdentityServiceClient) error {
				all := &orchestratorv1.ListTokensResponse{}
				req := &orchestratorv1.ListTokensRequest{Limit: new(int32(pageSize))}
				for more := true; more; {
					page, err := client.ListTokens(ctx, req)
					if err != nil {
						return err
					}
					all.Items = append(all.Items, page.GetItems()...)
					req.Cursor, more = page.GetNextCursor(), page.GetHasMore()
				}
				if asJSON {
					return c.printJSON(all)
				}
				var rows [][]string
				for _, t := range all.GetItems() {
					rows = append(rows, []string{t.GetId(), t.GetName(), t.GetPrefix() + "…", strings.Join(t.GetScopes(), ","),
						day(t.GetCreatedAt(), ""), day(t.GetExpiresAt(), "never"), day(t.GetLastUsedAt(), "never")})
				}
				return c.table("ID\tNAME\tTOKEN\tSCOPES\tMADE\tENDS\tLAST USED", rows)
			})
		},
	}
	p.addPeer(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

func (c *cli) tokenRevoke() *cobra.Command {
	var p peerFlags
	cmd := &cobra.Command{
		Use: "revoke ID", Short: "Revoke a token by its id", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.identity(cmd, &p, func(ctx context.Context, client orchestratorv1.IdentityServiceClient) error {
				if _, err := client.DeleteToken(ctx, &orchestratorv1.DeleteTokenRequest{TokenId: args[0]}); err != nil {
					return err
				}
				c.note("token %s is revoked; running servers refuse it within a minute", args[0])
				return nil
			})
		},
	}
	p.addPeer(cmd)
	return cmd
}

// day is the date of a time in UTC, or what its absence means.
func day(t *timestamppb.Timestamp, otherwise string) string {
	if t == nil {
		return otherwise
	}
	return t.AsTime().UTC().Format("2006-01-02")
}
