package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
)

// account is call for the service that knows models and usage.
func (c *cli) account(cmd *cobra.Command, p *peerFlags, do func(context.Context, orchestratorv1.AccountServiceClient) error) error {
	return c.call(cmd, p, []string{suite.TargetOrchestrator}, func(ctx context.Context, to *peer) error {
		return do(ctx, orchestratorv1.NewAccountServiceClient(to))
	})
}

func (c *cli) usageCommand() *cobra.Command {
	var p peerFlags
	var asJSON bool
	var days int32
	cmd := &cobra.Command{
		Use: "usage", Short: "Sum the tokens used, by day and model", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			req := &orchestratorv1.GetUsageRequest{Days: &days}
			return c.account(cmd, &p, func(ctx context.Context, client orchestratorv1.AccountServiceClient) error {
				res, err := client.GetUsage(ctx, req)
				switch {
				case err != nil:
					return err
				case asJSON:
					return c.printJSON(res)
				case len(res.GetRows()) == 0:
					c.note("nothing was used in the last %d days", days)
					return nil
				}
				var rows [][]string
				for _, r := range res.GetRows() {
					rows = append(rows, usageRow(r.GetDate(), r))
				}
				return c.table("DAY\tMODEL\tIN\tOUT\tCALLS\tTOOLS\tUSD", append(rows, usageRow("all", res.GetTotal())))
			})
		},
	}
	p.addPeer(cmd)
	cmd.Flags().Int32Var(&days, "days", 30, "days back from today, 1 to 366")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

func usageRow(day string, r *orchestratorv1.UsageRow) []string {
	return []string{day, cmp.Or(r.GetModel(), "-"), fmt.Sprintf("%.0f", r.GetInputTokens()), fmt.Sprintf("%.0f", r.GetOutputTokens()),
		strconv.Itoa(int(r.GetModelCalls())), strconv.Itoa(int(r.GetToolCalls())), fmt.Sprintf("%.4f", r.GetCostUsd())}
}
