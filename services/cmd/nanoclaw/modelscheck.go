package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/terminal"
	"github.com/nanoclaw/nanoclaw/services/orchestrator"
)

// modelsCheckFlags are what models check can be told.
type modelsCheckFlags struct {
	settings

	rounds, maxTokens int
	seed              uint64
	timeout           span
	yes, asJSON       bool
}

func (c *cli) modelsCheck() *cobra.Command {
	var f modelsCheckFlags
	cmd := &cobra.Command{
		Use: "check [ID]", Short: "Find out how well a model calls tools", Args: between(0, 1),
		Long: fmt.Sprintf(`Ask a configured model, else the default one, for calls of tools of many kinds:
nested objects, arrays, enums, integers at limits, optional and defaulted fields,
quotes, line breaks, CJK and emoji, code, several calls in one answer, calls after a
result, and a question that needs none. Each round is one call of the model, by the
client and the reader of arguments that runs use. No tool is run and nothing is
stored, but the provider counts the tokens: what it will be is said before, and on a
terminal asked.

The report says of each kind how many rounds came back as asked for, whether the
arguments were exact JSON, repaired or unreadable, fit the schema and had the values
asked for, how fast it was, and which profile and tool_mode to configure. Where the
answers speak for other settings, a few rounds are asked with these too.

Ctrl+C ends it with the report so far. It stops by itself where the rest would fare
no better. Rounds are 1 to %d; the same seed asks the same.

Exit codes: 0 every round passed, 5 some did, 1 none did, 3 the model is unknown,
here or at the provider, 4 the key was refused, 6 the time was up, 130 interrupted.`, orchestrator.MaxStressRounds),
		Example: `  nanoclaw models check
  nanoclaw models check glm-5 --rounds 18 --seed 7
  nanoclaw models check local --yes --json > report.json`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.checkModel(cmd, &f, strings.Join(args, "")) },
	}
	f.addSettings(cmd)
	fs := cmd.Flags()
	fs.IntVar(&f.rounds, "rounds", orchestrator.DefaultStressRounds, fmt.Sprintf("how many calls, 1 to %d", orchestrator.MaxStressRounds))
	fs.Uint64Var(&f.seed, "seed", 0, "asks what the run with this seed asked (default: a new one, which is printed)")
	fs.IntVar(&f.maxTokens, "max-tokens", 0, "the most tokens of one answer (default: runs.max_tokens)")
	fs.Var(&f.timeout, "timeout", "give up after this time, such as 10m (default: no limit)")
	fs.BoolVarP(&f.yes, "yes", "y", false, "do not ask before")
	fs.BoolVar(&f.asJSON, "json", false, "print one JSON document")
	return cmd
}

func (c *cli) checkModel(cmd *cobra.Command, f *modelsCheckFlags, id string) error {
	cfg, err := c.load(cmd, &f.settings, nil)
	if err != nil {
		return err
	}
	m, err := chooseModel(cfg.Config, id)
	if err != nil {
		return err
	}
	o := orchestrator.StressOptions{Rounds: f.rounds, Seed: f.seed, MaxTokens: f.maxTokens}
	switch set := cmd.Flags().Changed; {
	case f.rounds < 1:
		return usagef("--rounds: %d is not between 1 and %d", f.rounds, orchestrator.MaxStressRounds)
	case set("max-tokens") && f.maxTokens < 1:
		return usagef("--max-tokens: %d is too low; at least 1", f.maxTokens)
	case !set("max-tokens"):
		o.MaxTokens = cfg.Runs.MaxTokens
	}
	if !cmd.Flags().Changed("seed") {
		o.Seed = uint64(rand.Uint32()) // short, for people to copy
	}
	plan, err := orchestrator.PlanStress(o)
	if err != nil {
		return usagef("%w", err)
	}
	if err := c.agree(f, m, o, plan); err != nil {
		return err
	}
	return c.stress(f, m, o)
}

// chooseModel finds a model by its id; the default one for the empty id.
func chooseModel(cfg orchestrator.Config, id string) (orchestrator.ModelConfig, error) {
	list, err := orchestrator.ListModels(cfg)
	if err != nil {
		return orchestrator.ModelConfig{}, err
	}
	if id == "" {
		id = list.GetDefaultModel()
	}
	var ids []string
	for _, m := range cfg.Models {
		if m.ID == id {
			return m, nil
		}
		ids = append(ids, m.ID)
	}
	if len(ids) == 0 {
		return orchestrator.ModelConfig{}, errors.New(noModel)
	}
	return orchestrator.ModelConfig{}, &exitError{exitNotFound, fmt.Errorf("there is no model %q%s", id, didYouMean("", id, ids, "; the models are: "+strings.Join(ids, ", ")))}
}

// agree says what the check will cost, and on a terminal asks whether that is
// meant.
func (c *cli) agree(f *modelsCheckFlags, m orchestrator.ModelConfig, o orchestrator.StressOptions, plan orchestrator.StressPlan) error {
	c.note("model %s: %s of %s of question, and up to %d more to try other settings; about %d tokens in, at most %d tokens out (%d an answer). Seed %d",
		m.ID, plural(plan.Calls, "call"), plural(len(plan.Kinds), "kind"), plan.Trials, plan.InputTokens, plan.OutputTokens, o.MaxTokens, o.Seed)
	if f.yes || !terminal.Is(c.stdin) {
		return nil
	}
	_, _ = fmt.Fprint(c.stderr, "nanoclaw: go on? [y/N] ")
	line, err := bufio.NewReader(c.stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return &exitError{exitInterrupted, errors.New("nothing was asked")}
}

// stress runs the check and shows its report.
func (c *cli) stress(f *modelsCheckFlags, m orchestrator.ModelConfig, o orchestrator.StressOptions) error {
	ctx, stop := c.interruptible()
	defer stop()
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(f.timeout))
		defer cancel()
	}
	view := c.newStressView()
	o.Progress = view.seen
	report, err := orchestrator.StressModel(ctx, m, o)
	view.done()
	if err != nil {
		return err
	}
	show := c.showStress
	if f.asJSON {
		show = func(r orchestrator.StressReport) error { return c.printDocument(r) }
	}
	if err := show(report); err != nil {
		return err
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &exitError{exitTimeout, fmt.Errorf("timed out after %s: give it more time with --timeout", time.Duration(f.timeout))}
	case ctx.Err() != nil:
		return errInterrupted
	}
	return stressExit(report, f.asJSON)
}

// stressExit is the exit code of a report. What failed is said once more only
// where there is no table that shows it.
func stressExit(r orchestrator.StressReport, quiet bool) error {
	kind, failure := r.Failure()
	code := exitFailure
	switch passed := r.Total.Passed; {
	case kind == "auth":
		code = exitDenied
	case kind == "not_found":
		code = exitNotFound
	case passed.N == passed.Of && passed.N == r.Rounds:
		return nil
	case passed.N > 0:
		code = exitPartial
	}
	if quiet || failure == nil || r.Total.Passed.N > 0 {
		failure = nil
	}
	return &exitError{code, failure}
}
