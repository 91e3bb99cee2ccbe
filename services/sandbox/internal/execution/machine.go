package execution

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/isolate"
)

const (
	// probeEvery is how often the sandboxes are put to the test.
	probeEvery = 10 * time.Minute
	// probeAgain is how old a bad answer may be: somebody may just have put it
	// right.
	probeAgain = 10 * time.Second
	// probeTime bounds one look.
	probeTime = 30 * time.Second
)

// Machine knows what isolation there is. It is safe for concurrent use.
type Machine struct {
	Driver isolate.Driver
	Log    *slog.Logger

	probing sync.Mutex // held while the driver looks

	mu    sync.Mutex
	known bool
	at    time.Time
	caps  isolate.Capabilities
}

// Capabilities is what was found last. It looks first when nobody has, and again
// when something was missing.
func (m *Machine) Capabilities(ctx context.Context) isolate.Capabilities {
	if caps, ok := m.fresh(); ok {
		return caps
	}
	m.probing.Lock()
	defer m.probing.Unlock()
	if caps, ok := m.fresh(); ok { // somebody else has looked meanwhile
		return caps
	}
	return m.probe(ctx)
}

func (m *Machine) fresh() (isolate.Capabilities, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.caps, m.known && (m.caps.Available() || time.Since(m.at) < probeAgain)
}

// probe looks. A caller who leaves does not spoil the answer for the others.
func (m *Machine) probe(ctx context.Context) isolate.Capabilities {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), probeTime)
	defer stop()
	caps := m.Driver.Probe(ctx)
	m.mu.Lock()
	before, known := m.caps, m.known
	m.caps, m.known, m.at = caps, true, time.Now()
	m.mu.Unlock()
	missing := caps.Missing()
	if known && slices.Equal(missing, before.Missing()) {
		return caps
	}
	if len(missing) > 0 {
		m.Log.WarnContext(ctx, "code cannot be run", "reason", (&isolate.Unavailable{Missing: missing}).Error())
	} else {
		m.Log.InfoContext(ctx, "code can be run", "driver", caps.Driver, "version", caps.Version, "enforcement", caps.Enforcement, "languages", caps.Languages)
	}
	return caps
}

// Watch looks now and every ten minutes, until ctx ends.
func (m *Machine) Watch(ctx context.Context) {
	m.Capabilities(ctx)
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			m.probing.Lock()
			m.probe(ctx)
			m.probing.Unlock()
		case <-ctx.Done():
			return
		}
	}
}
