// Package executiontest has a driver for tests that isolates nothing: what a
// program does is a Go function.
package executiontest

import (
	"bytes"
	"context"
	"sync"

	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/isolate"
)

// Driver is a driver whose programs are functions. The zero value runs every
// language, and every program ends well at once.
type Driver struct {
	// Program is what every program does; ctx ends when it is to be killed. nil:
	// nothing.
	Program func(ctx context.Context, s isolate.Spec) (isolate.Result, error)

	mu     sync.Mutex
	caps   *isolate.Capabilities
	probes int
	specs  []isolate.Spec
	closed bool
}

// Run implements isolate.Driver.
func (d *Driver) Run(ctx context.Context, s isolate.Spec) (isolate.Result, error) {
	d.mu.Lock()
	d.specs = append(d.specs, s)
	closed := d.closed
	d.mu.Unlock()
	if closed {
		return isolate.Result{}, isolate.ErrClosed
	}
	if s.Started != nil {
		s.Started(isolate.Start{})
	}
	if d.Program == nil {
		return isolate.Result{Status: isolate.StatusOK}, nil
	}
	return d.Program(ctx, s)
}

// Probe implements isolate.Driver.
func (d *Driver) Probe(context.Context) isolate.Capabilities {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.probes++
	if d.caps != nil {
		return *d.caps
	}
	return isolate.Capabilities{Driver: "fake", Version: "1", Languages: map[string]string{
		"python": "3.11", "javascript": "20.1", "bash": "5.2",
	}}
}

// Find makes the next look at the machine find this.
func (d *Driver) Find(caps isolate.Capabilities) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.caps = &caps
}

// Probes is how often the machine was looked at.
func (d *Driver) Probes() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.probes
}

// Specs are the programs that were run, in order.
func (d *Driver) Specs() []isolate.Spec {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]isolate.Spec{}, d.specs...)
}

// Close implements isolate.Driver.
func (d *Driver) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	return nil
}

// Code is the code that a program was made of.
func Code(s isolate.Spec) string {
	for name, content := range s.Files {
		if name != "boot.py" {
			return string(bytes.TrimSpace(content))
		}
	}
	return ""
}

// Missing is a machine on which something that is required is not there.
func Missing() isolate.Capabilities {
	return isolate.Capabilities{Driver: "fake", Checks: []isolate.Check{
		{Name: "bubblewrap", Required: true, Detail: "bwrap is not in PATH", Fix: "apt-get install bubblewrap"},
		{Name: "seccomp", OK: true, Required: true},
		{Name: "memory", Detail: "no memory cgroup can be written"},
	}}
}
