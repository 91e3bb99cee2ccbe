package main

import (
	"io"

	"github.com/spf13/cobra"
)

// cli is the program with everything of the process that it touches.
type cli struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	// env is in the form of os.Environ.
	env []string
}

// execute runs one command line and gives the exit code.
func (c *cli) execute(args []string) int {
	root := c.rootCommand()
	root.SetArgs(args)
	err := root.Execute()
	report(c.stderr, err)
	return exitCode(err)
}

func (c *cli) rootCommand() *cobra.Command {
	root := group("nanoclaw", "Hands for language models: search, fetch and tools, as a service and at the command line",
		c.serveCommand(),
		c.chatCommand(),
		c.searchCommand(),
		c.fetchCommand(),
		c.crawlCommand(),
		c.tasksCommand(),
		c.runCommand(),
		c.sandboxCommand(),
		c.toolsCommand(),
		c.tokenCommand(),
		c.modelsCommand(),
		c.usageCommand(),
		c.configCommand(),
		c.doctorCommand(),
		c.demoCommand(),
		c.inspectCommand(),
		c.versionCommand(),
	)
	root.Long = `NanoClaw gives language models hands: they search the web, read pages and call
tools, and every step is streamed, stored and traced.

Results go to stdout, everything else to stderr. Exit codes: 0 ok, 1 failure,
2 usage, 3 not found, 4 denied, 5 partial (or the sandbox is missing), 6 timed
out, 130 interrupted. "run" ends with the exit code of the program.`
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetIn(c.stdin)
	root.SetOut(c.stdout)
	root.SetErr(c.stderr)
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.Args = cobra.ArbitraryArgs // RunE of the group says what is wrong
	return root
}
