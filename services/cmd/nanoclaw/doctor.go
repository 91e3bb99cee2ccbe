package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/terminal"
	"github.com/nanoclaw/nanoclaw/services/internal/doctor"
)

func (c *cli) doctorCommand() *cobra.Command {
	var s settings
	var asJSON bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check everything that a server here needs, and say how to put it right", Args: exactly(0),
		Long: `Check what a server with this configuration needs: configuration, data folder,
keys, models, database, cache, blob store, other services, search engines,
sandbox, ports and clock. Every failure comes with its fix. Nothing is changed, no model
is asked anything, and no key is shown.

Exit code 0 when nothing failed (warnings are no failure), 1 otherwise.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o := doctor.Options{Version: thisBuild().Version}
			o.Config, o.Warnings, o.ConfigErr = c.read(cmd, &s, nil)
			if o.Source, _ = c.configFile(&s); !isThere(o.Source) {
				o.Source = "no " + o.Source + ": environment, flags and defaults"
			}
			ctx, stop := c.interruptible()
			defer stop()
			findings := doctor.Examine(ctx, o)
			if ctx.Err() != nil {
				return errInterrupted
			}
			show := c.showFindings
			if asJSON {
				show = c.printFindings
			}
			if err := show(findings); err != nil {
				return err
			}
			if !doctor.Healthy(findings) {
				return &exitError{code: exitFailure}
			}
			return nil
		},
	}
	s.addSettings(cmd, listenFlags...)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// printFindings prints one JSON document for scripts.
func (c *cli) printFindings(findings []doctor.Finding) error {
	return c.printDocument(struct {
		Healthy  bool             `json:"healthy"`
		Findings []doctor.Finding `json:"findings"`
	}{doctor.Healthy(findings), findings})
}

// showFindings prints a line a finding, with the fix below.
func (c *cli) showFindings(findings []doctor.Finding) error {
	widest := 0
	for _, f := range findings {
		widest = max(widest, len(f.Check))
	}
	var out strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&out, "%-7s  %-*s  %s\n", f.Level, widest, f.Check, terminal.Line(f.Message, maxNote))
		if f.Fix != "" {
			fmt.Fprintf(&out, "%-7s  %-*s  fix: %s\n", "", widest, "", terminal.Line(f.Fix, maxNote))
		}
	}
	fmt.Fprintf(&out, "\n%d ok, %s, %d failed\n", doctor.Count(findings, doctor.OK), plural(doctor.Count(findings, doctor.Warning), "warning"), doctor.Count(findings, doctor.Failed))
	_, err := fmt.Fprint(c.stdout, out.String())
	return err
}
