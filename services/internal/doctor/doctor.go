// Package doctor looks at a deployment from the machine of one of its processes:
// what works, what does not, and how to put it right. It asks with the very
// functions that the services use, so that what it says of an endpoint or a
// database is what a service would meet there.
//
// It changes nothing. What it writes, into a blob store, it removes again; it
// makes no key, no database and no folder, and asks no model anything. What it
// says holds no secret.
package doctor

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/suite"
)

const (
	// deadline bounds each check; all of them go on at once.
	deadline = 10 * time.Second
	// grace is how much longer a check is waited for that ends by its deadline.
	grace = 500 * time.Millisecond
)

// Level says how bad a finding is.
type Level string

// The levels.
const (
	OK      Level = "ok"
	Info    Level = "info"    // nothing to do
	Warning Level = "warning" // works, but look at it
	Failed  Level = "failed"  // does not work
)

// Finding is one thing that was looked at.
type Finding struct {
	// Check is what was looked at: "data folder", "model glm-5".
	Check   string `json:"check"`
	Level   Level  `json:"level"`
	Message string `json:"message"`
	// Fix is what to do; every warning and failure has one.
	Fix string `json:"fix,omitempty"`
	// Milliseconds is how long the check took.
	Milliseconds int64 `json:"duration_ms"`
}

// Options say what is examined.
type Options struct {
	// Source is where the configuration comes from, for people.
	Source string
	// Config is not looked at after a ConfigErr.
	Config    suite.Config
	ConfigErr error
	// Warnings of reading the configuration.
	Warnings []string
	// Version of this program.
	Version string
}

// examination is what the checks of one Examine share.
type examination struct {
	cfg    suite.Config
	clocks clocks
	lookup func(ctx context.Context, host string) ([]string, error)
}

// check is one thing to look at.
type check struct {
	name string
	look func(context.Context) []Finding
}

// Examine makes every check, side by side, and gives the findings in a fixed
// order. It takes the time of the slowest check, at most some ten seconds.
func Examine(ctx context.Context, o Options) []Finding {
	x := &examination{cfg: o.Config, lookup: net.DefaultResolver.LookupHost}
	findings := configuration(o)
	if o.ConfigErr == nil {
		findings = append(findings, run(ctx, x.checks())...)
		findings = append(findings, x.clocks.compare())
	}
	return append(findings, run(ctx, []check{{"system", system(o.Version)}, {"later features", laterFeatures}})...)
}

// checks are those that need a configuration.
func (x *examination) checks() []check {
	all := []check{
		{"data folder", x.dataFolder}, {"disk", x.disk}, {"identity key", x.identityKey}, {"tls", x.tls},
	}
	all = append(all, x.models()...)
	all = append(all, check{"database", x.database}, check{"cache", x.cache}, check{"blobs", x.blobs}, check{"search", x.search}, check{"netguard", x.netguard}, check{"sandbox", x.sandbox}, check{"sandbox roots", x.roots}, check{"tools", x.tools})
	all = append(all, x.services()...)
	all = append(all, x.providers()...)
	all = append(all, x.ports()...)
	return append(all, check{"traces", x.traces})
}

func run(ctx context.Context, checks []check) []Finding {
	found := make([][]Finding, len(checks))
	var all sync.WaitGroup
	for i, c := range checks {
		all.Go(func() { found[i] = c.run(ctx) })
	}
	all.Wait()
	var flat []Finding
	for _, f := range found {
		flat = append(flat, f...)
	}
	return flat
}

// run makes the check and gives it up when it does not end in time, such as one
// of a disk behind a network that is away.
func (c check) run(ctx context.Context) []Finding {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	began := time.Now()
	done := make(chan []Finding, 1)
	go func() { done <- c.look(ctx) }()
	late := time.NewTimer(deadline + grace)
	defer late.Stop()
	var found []Finding
	select {
	case found = <-done:
	case <-late.C:
		found = failed("see whether a disk or a server hangs", "it did not end within %s", deadline)
	}
	for i := range found {
		if found[i].Check == "" {
			found[i].Check = c.name
		}
		found[i].Milliseconds = time.Since(began).Milliseconds()
	}
	return found
}

// Healthy says that nothing failed.
func Healthy(findings []Finding) bool { return Count(findings, Failed) == 0 }

// Count is how many findings are of a level.
func Count(findings []Finding, level Level) int {
	n := 0
	for _, f := range findings {
		if f.Level == level {
			n++
		}
	}
	return n
}

func configuration(o Options) []Finding {
	const name = "configuration"
	if o.ConfigErr != nil {
		var all []Finding
		for line := range strings.SplitSeq(o.ConfigErr.Error(), "\n") {
			all = append(all, Finding{Check: name, Level: Failed, Message: line, Fix: "correct it; nothing that depends on the configuration was checked"})
		}
		return all
	}
	all := []Finding{{Check: name, Level: OK, Message: o.Source}}
	for _, w := range o.Warnings {
		all = append(all, Finding{Check: name, Level: Warning, Message: w, Fix: `correct it; "nanoclaw config" prints what is in force`})
	}
	return all
}

func ok(format string, args ...any) []Finding {
	return []Finding{{Level: OK, Message: fmt.Sprintf(format, args...)}}
}

func info(format string, args ...any) []Finding {
	return []Finding{{Level: Info, Message: fmt.Sprintf(format, args...)}}
}

func warning(fix, format string, args ...any) []Finding {
	return []Finding{{Level: Warning, Message: fmt.Sprintf(format, args...), Fix: fix}}
}

func failed(fix, format string, args ...any) []Finding {
	return []Finding{{Level: Failed, Message: fmt.Sprintf(format, args...), Fix: fix}}
}
