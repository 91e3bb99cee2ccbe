// Command nanoclaw is the whole suite in one binary: the server and the
// commands for people and scripts.
//
// Results go to stdout, everything said about them to stderr, so that a pipe
// gets the result alone. A failure is one sentence on stderr, "nanoclaw: what,
// where, what to do", and an exit code of exit.go.
package main

import (
	"os"
)

func main() { os.Exit(run(os.Args[1:])) }

// run is the program without its exit: for main and for tests.
func run(args []string) int {
	c := &cli{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, env: os.Environ()}
	return c.execute(args)
}
