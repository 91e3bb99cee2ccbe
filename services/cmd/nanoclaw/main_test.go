package main

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

// TestMain makes the test binary be nanoclaw when a script calls it so.
func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){
		"nanoclaw": main,
		"exits":    exits,
	})
}

// exits is a program for scripts: "exits 3 tools show x" is nanoclaw that must
// end with 3.
func exits() {
	want, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	if code := run(os.Args[2:]); code != want {
		fmt.Fprintf(os.Stderr, "exit code %d, want %d\n", code, want)
		os.Exit(1)
	}
}

// leakChecked fails when the tests leave goroutines behind.
type leakChecked struct{ m *testing.M }

func (l leakChecked) Run() int {
	code := l.m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
