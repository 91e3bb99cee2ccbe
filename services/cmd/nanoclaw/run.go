package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
)

// Reasons of the sandbox for a program that nothing here can run.
const (
	reasonNoSandbox  = "SANDBOX_UNAVAILABLE"
	reasonNoLanguage = "LANGUAGE_UNAVAILABLE"
)

// maxProgramBytes is the longest program, and the longest input of one.
const maxProgramBytes = 1 << 20

// runFlags are what run can be told.
type runFlags struct {
	peerFlags

	language    choice
	code, stdin string
	asJSON      bool

	asked   time.Duration // for the program; 0: as much as it may have
	saidCut bool          // that it does not get that much
}

func (c *cli) runCommand() *cobra.Command {
	f := runFlags{language: choice{allowed: []string{"python", "javascript", "bash"}}}
	req := &sandboxv1.ExecuteRequest{}
	cmd := &cobra.Command{
		Use: "run [FILE]", Short: "Run a program in a sandbox", Args: between(0, 1),
		Long: `Run a program in a sandbox of its own: without network, with the files of one
workspace, and with limits on time, memory, processes and output. The program is
FILE, - for stdin, or what -c says. Its language is told by the name of FILE, else
it is python.

What the program writes goes to stdout and stderr as it is, and its exit code is
that of this command; a program that a limit ended has 128 and the number of the
signal, or 6 when its time was up. Where the sandbox cannot be had nothing runs,
and the exit code is 5: "nanoclaw sandbox check" says how to put that right.
Ctrl+C kills the program.`,
		Example: `  nanoclaw run -c 'print(6 * 7)'
  nanoclaw run report.py --workspace sales --stdin sales.csv
  echo 'console.log(process.version)' | nanoclaw run --language javascript -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			inline := cmd.Flags().Changed("code")
			switch {
			case inline && len(args) > 0:
				return usagef("a program is named and one is given with -c: give one of them")
			case !inline && len(args) == 0:
				return usagef("there is no program: name a file, - for stdin, or give it with -c")
			case len(args) > 0 && args[0] == "-" && f.stdin == "-":
				return usagef("stdin cannot be both the program and its input: put one of them into a file")
			}
			if err := c.readProgram(req, &f, args); err != nil {
				return err
			}
			if err := f.limit(req); err != nil {
				return err
			}
			c.sayCut(cmd, &f)
			return c.execution(cmd, &f, req)
		},
	}
	f.addPeer(cmd)
	fs := cmd.Flags()
	fs.Lookup("timeout").Usage = "time that the program may take, such as 5s (default and most: sandbox.limits.wall, 30s unless configured)"
	fs.VarP(&f.language, "language", "l", "language of the program")
	fs.StringVarP(&f.code, "code", "c", "", "the program itself")
	fs.StringVar(&f.stdin, "stdin", "", "file that the program reads as its standard input (- passes stdin on)")
	fs.StringVar(&req.WorkspaceId, "workspace", "", "workspace whose files are the program's folder and stay (default: an empty folder that is removed)")
	fs.BoolVar(&f.asJSON, "json", false, "print how it ended, with its output, as one JSON document")
	return cmd
}

// languages by the ends of file names.
var languages = map[string]string{".py": "python", ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".sh": "bash", ".bash": "bash"}

// readProgram fills the program, its language and its input in.
func (c *cli) readProgram(req *sandboxv1.ExecuteRequest, f *runFlags, args []string) error {
	req.Code, req.Language = f.code, f.language.value
	if len(args) > 0 {
		code, err := c.readWhole(args[0], "the program")
		if err != nil {
			return err
		}
		req.Code = string(code)
		req.Language = cmp.Or(req.Language, languages[filepath.Ext(args[0])])
	}
	req.Language = cmp.Or(req.Language, "python")
	if len(bytes.TrimSpace([]byte(req.Code))) == 0 {
		return usagef("the program is empty")
	}
	if f.stdin == "" {
		return nil
	}
	var err error
	req.Stdin, err = c.readWhole(f.stdin, "the input")
	return err
}

// readWhole reads a file of at most maxProgramBytes; - is stdin.
func (c *cli) readWhole(path, what string) ([]byte, error) {
	from := c.stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, usagef("%s, %s, cannot be read: %w", what, path, pathReason(err))
		}
		defer file.Close()
		from = file
	}
	text, err := io.ReadAll(io.LimitReader(from, maxProgramBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s from %s: %w", what, path, pathReason(err))
	case len(text) > maxProgramBytes:
		return nil, usagef("%s, %s, has over %d bytes", what, path, maxProgramBytes)
	}
	return text, nil
}

// limit makes --timeout the time of the program, which the sandbox keeps. A wait
// for its turn is no part of it.
func (f *runFlags) limit(req *sandboxv1.ExecuteRequest) error {
	if f.timeout.Milliseconds() > math.MaxInt32 {
		return usagef("--timeout: %s is no time that a program can be given", f.timeout)
	}
	if f.timeout > 0 {
		req.TimeoutMs = int32(max(f.timeout.Milliseconds(), 1))
	}
	f.asked, f.timeout = f.timeout, 0
	return nil
}

// sayCut says when the configuration here allows less time than was asked for. A
// server that was named has a configuration of its own.
func (c *cli) sayCut(cmd *cobra.Command, f *runFlags) {
	if f.asked == 0 || f.server != "" || c.getenv("NANOCLAW_SERVER") != "" {
		return
	}
	cfg, _, err := c.read(cmd, &f.settings, nil)
	if err == nil && cfg.Services.Sandbox == "" && f.asked > cfg.Sandbox.Limits.Wall { // a wrong one is told when it is used
		c.note("--timeout %s is cut to %s: sandbox.limits.wall allows no more", f.asked, cfg.Sandbox.Limits.Wall)
		f.saidCut = true
	}
}

// execution runs the program and passes on what it writes.
func (c *cli) execution(cmd *cobra.Command, f *runFlags, req *sandboxv1.ExecuteRequest) error {
	return c.call(cmd, &f.peerFlags, []string{asOwner}, func(ctx context.Context, to *peer) error {
		stream, err := sandboxv1.NewSandboxServiceClient(to).Execute(ctx, req)
		if err != nil {
			return err
		}
		for {
			message, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return errors.New("the sandbox said nothing of how the program ended: see the log of the server")
			}
			if err != nil {
				return err
			}
			if !f.asJSON {
				if err := c.pass(message); err != nil {
					return err
				}
			}
			if result := message.GetResult(); result != nil {
				return c.executed(result, f)
			}
		}
	})
}

// pass passes on what the program wrote, byte by byte.
func (c *cli) pass(message *sandboxv1.ExecuteResponse) error {
	switch e := message.GetEvent().(type) {
	case *sandboxv1.ExecuteResponse_Stdout:
		_, err := c.stdout.Write(e.Stdout)
		return err
	case *sandboxv1.ExecuteResponse_Stderr:
		_, err := c.stderr.Write(e.Stderr)
		return err
	}
	return nil
}

// executed says how the program ended and gives its exit code.
func (c *cli) executed(r *sandboxv1.ExecutionResult, f *runFlags) error {
	if f.asJSON {
		if err := c.printJSON(r); err != nil {
			return err
		}
	} else {
		c.artifacts(r)
		switch r.GetStatus() {
		case "ok", "nonzero_exit":
		default:
			c.note("%s after %s: %s", r.GetStatus(), time.Duration(r.GetDurationMs())*time.Millisecond, r.GetMessage())
		}
	}
	if took := time.Duration(r.GetDurationMs()) * time.Millisecond; r.GetStatus() == "timeout_wall" && took < f.asked && !f.saidCut {
		c.note("--timeout %s was cut: sandbox.limits.wall of the server allows no more", f.asked)
	}
	switch r.GetStatus() {
	case "ok":
		return nil
	case "timeout_wall", "timeout_cpu":
		return &exitError{code: exitTimeout}
	case "cancelled":
		return &exitError{code: exitInterrupted}
	}
	if code := r.GetExitCode(); code != 0 {
		return &exitError{code: int(code)}
	}
	return &exitError{code: exitFailure}
}

// artifacts lists the files that the program made in its workspace.
func (c *cli) artifacts(r *sandboxv1.ExecutionResult) {
	for _, a := range r.GetArtifacts() {
		c.note("made %s (%s, %s)", a.GetPath(), a.GetMimeType(), byteWords(a.GetSizeBytes()))
	}
	if r.GetArtifactsTruncated() {
		c.note("made more files than are listed")
	}
}

// byteWords is a size for people.
func byteWords(size float64) string {
	const step = 1024
	if size < step {
		return plural(int(size), "byte")
	}
	for _, unit := range []string{"KiB", "MiB"} {
		if size /= step; size < step {
			return fmt.Sprintf("%.1f %s", size, unit)
		}
	}
	return fmt.Sprintf("%.1f GiB", size/step)
}
