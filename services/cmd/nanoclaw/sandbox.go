package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/terminal"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
)

func (c *cli) sandboxCommand() *cobra.Command {
	return group("sandbox", "Look at the sandbox in which programs run", c.sandboxCheck())
}

func (c *cli) sandboxCheck() *cobra.Command {
	var p peerFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "check", Short: "Tell whether programs can be run here, and how to put it right", Args: exactly(0),
		Long: `Tell what isolation this machine gives, by trying it. Exit code 0 when programs
can be run, 5 when not; then every line that matters has its fix.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.call(cmd, &p, []string{suite.TargetSandbox}, func(ctx context.Context, to *peer) error {
				res, err := sandboxv1.NewSandboxServiceClient(to).GetCapabilities(ctx, &sandboxv1.GetCapabilitiesRequest{})
				if err != nil {
					return err
				}
				show := c.showCapabilities
				if asJSON {
					show = func(r *sandboxv1.GetCapabilitiesResponse) error { return c.printJSON(r) }
				}
				if err := show(res); err != nil || res.GetAvailable() {
					return err
				}
				return &exitError{code: exitPartial}
			})
		},
	}
	p.addPeer(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

// showCapabilities prints a line for each thing that was looked at, with the fix
// below.
func (c *cli) showCapabilities(r *sandboxv1.GetCapabilitiesResponse) error {
	var rows [][]string
	for _, check := range r.GetChecks() {
		state := "ok"
		switch {
		case !check.GetOk() && check.GetRequired():
			state = "missing"
		case !check.GetOk():
			state = "without" // not asked for
		}
		rows = append(rows, []string{state, check.GetName(), check.GetDetail()})
		if !check.GetOk() && check.GetFix() != "" {
			rows = append(rows, []string{"", "", "fix: " + check.GetFix()})
		}
	}
	if err := c.table("STATE\tCHECK\tFOUND", rows); err != nil {
		return err
	}
	verdict := "programs can be run"
	if !r.GetAvailable() {
		verdict = "programs cannot be run"
	}
	if r.GetDriver() != "" {
		verdict += " (" + terminal.Line(r.GetDriver()+" "+r.GetDriverVersion(), maxCell) + ")"
	}
	_, err := fmt.Fprintln(c.stdout, "\n"+verdict)
	return err
}
