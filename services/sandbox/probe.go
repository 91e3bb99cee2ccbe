package sandbox

import (
	"context"
	"errors"
	"fmt"

	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/isolate"
)

// Probe tells what isolation a service with this configuration would have on
// this machine, by trying it. It needs no data folder and leaves nothing behind.
// singleUser is as in [Deps].
func Probe(ctx context.Context, cfg Config, singleUser bool) (_ *sandboxv1.GetCapabilitiesResponse, err error) {
	driver, err := newDriver(cfg, singleUser)
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	defer func() { err = errors.Join(err, driver.Close()) }()
	return capabilities(driver.Probe(ctx)), nil
}

func newDriver(cfg Config, singleUser bool) (isolate.Driver, error) {
	return isolate.NewBubblewrap(isolate.Config{
		Require: cfg.Require, MemoryPoll: cfg.MemoryPoll || singleUser, Path: cfg.Bubblewrap,
	})
}

// capabilities is what a driver found, on the wire.
func capabilities(c isolate.Capabilities) *sandboxv1.GetCapabilitiesResponse {
	out := &sandboxv1.GetCapabilitiesResponse{
		Available: c.Available(), Driver: c.Driver, DriverVersion: c.Version, Languages: c.Languages, Enforcement: c.Enforcement,
	}
	for _, check := range c.Checks {
		out.Checks = append(out.Checks, &sandboxv1.Capability{
			Name: check.Name, Ok: check.OK, Required: check.Required, Detail: check.Detail, Fix: check.Fix,
		})
	}
	return out
}
