package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/orchestrator"
)

func (c *cli) modelsCommand() *cobra.Command {
	var p peerFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "models", Short: "List the configured models, or put one to the test",
		Long: `List the models of the configuration, or of a running server with --server: where
each is asked, by which profile and how that was chosen, how tools are offered, who
is asked in its place when it fails, and whether a key is sent. No key is shown and
nobody is asked; "nanoclaw models check" asks.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := c.models(cmd, &p)
			switch {
			case err != nil:
				return err
			case asJSON:
				return c.printJSON(list)
			case len(list.GetModels()) == 0:
				c.sayNoModel()
				return nil
			}
			return c.tableOfModels(list)
		},
	}
	p.addPeer(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	cmd.AddCommand(c.modelsCheck())
	return cmd
}

// models are those of a server where one is named, else of the configuration.
func (c *cli) models(cmd *cobra.Command, p *peerFlags) (list *orchestratorv1.ListModelsResponse, err error) {
	if p.server == "" && c.getenv("NANOCLAW_SERVER") == "" {
		cfg, err := c.load(cmd, &p.settings, nil)
		if err != nil {
			return nil, err
		}
		return orchestrator.ListModels(cfg.Config)
	}
	err = c.account(cmd, p, func(ctx context.Context, client orchestratorv1.AccountServiceClient) error {
		list, err = client.ListModels(ctx, &orchestratorv1.ListModelsRequest{})
		return err
	})
	return list, err
}

// sayNoModel says how to set a model, and what works without one.
func (c *cli) sayNoModel() {
	for line := range strings.SplitSeq(noModel, "\n") {
		c.note("%s", line)
	}
	c.note("\"nanoclaw demo\" shows everything at work without one")
}

func (c *cli) tableOfModels(list *orchestratorv1.ListModelsResponse) error {
	var rows [][]string
	for _, m := range list.GetModels() {
		key, mark := "none", ""
		if m.GetHasKey() {
			key = "set"
		}
		if m.GetIsDefault() {
			mark = "default"
		}
		rows = append(rows, []string{
			m.GetId(), m.GetName(), cmp.Or(m.GetModel(), "-"), cmp.Or(m.GetEndpoint(), "-"), profileWords(m), cmp.Or(m.GetToolMode(), "-"),
			strconv.Itoa(int(m.GetContextWindow())), key, cmp.Or(strings.Join(m.GetFallback(), ", "), "-"), mark,
		})
	}
	return c.table("ID\tNAME\tMODEL\tENDPOINT\tPROFILE\tTOOLS\tCONTEXT\tKEY\tFALLBACK\t", rows)
}

// profileWords are "glm (endpoint)".
func profileWords(m *orchestratorv1.Model) string {
	if m.GetProfile() == "" {
		return "-"
	}
	return fmt.Sprintf("%s (%s)", m.GetProfile(), m.GetProfileFrom())
}
