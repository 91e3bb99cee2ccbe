//go:build !linux

package isolate

import (
	"context"
	"runtime"
)

// NewBubblewrap makes a driver that says that this system has no sandbox.
func NewBubblewrap(Config) (Driver, error) { return nowhere{}, nil }

type nowhere struct{}

func (nowhere) Probe(context.Context) Capabilities {
	return Capabilities{Driver: "bubblewrap", Checks: []Check{{
		Name: "linux", Required: true, Detail: "this system is " + runtime.GOOS, Fix: "run the sandbox service on Linux",
	}}}
}

func (n nowhere) Run(ctx context.Context, _ Spec) (Result, error) {
	return Result{}, &Unavailable{Missing: n.Probe(ctx).Missing()}
}

func (nowhere) Close() error { return nil }
