package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
)

func (c *cli) configCommand() *cobra.Command {
	var shown settings
	cmd := &cobra.Command{
		Use: "config", Short: "Print the configuration in force, with where each value comes from",
		Long: `Print the configuration in force as YAML, with the place that each value comes
from as a comment. Keys and tokens are masked.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			origins := map[string]string{}
			cfg, err := c.load(cmd, &shown, origins)
			if err != nil {
				return err
			}
			_, err = io.WriteString(c.stdout, config.DumpOrigins(cfg, origins))
			return err
		},
	}
	shown.addSettings(cmd)

	checked := settings{serving: true}
	check := &cobra.Command{
		Use: "check", Short: "Check the configuration: exit code 0 when a server would take it", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.load(cmd, &checked, nil)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.stdout, "the configuration is fine: %s, data folder %s\n", plural(len(cfg.Models), "model"), cfg.DataDir)
			return err
		},
	}
	checked.addSettings(check)
	cmd.AddCommand(check)
	return cmd
}
