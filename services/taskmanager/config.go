package taskmanager

import (
	"errors"
	"fmt"
	"time"
)

// Bounds of a task, the same for every caller.
const (
	// MaxURLs of a task.
	MaxURLs = 50
	// DefaultParallel and MaxParallel bound the pages of a task that are fetched
	// at the same time.
	DefaultParallel = 3
	MaxParallel     = 5
	// maxURLBytes is the longest address.
	maxURLBytes = 2048
)

const (
	defaultHostGap        = 250 * time.Millisecond
	defaultMaxRetries     = 2
	defaultRunningPerUser = 4
	defaultMaxTasks       = 100
	defaultMaxChars       = 100_000
	defaultKeepResults    = 14 * 24 * time.Hour
	defaultKeepTasks      = 90 * 24 * time.Hour

	maxHostGap    = time.Minute
	maxRetriesCap = 10
	shortestKeep  = time.Hour
)

// Config is the `tasks` section of the configuration.
type Config struct {
	// HostGap is the least time between two requests to one host, up to a minute.
	// A host asks for more with its robots.txt, and slow hosts get more. Hosts of
	// netguard.allow are the operator's own and get none.
	HostGap time.Duration `config:"host_gap"`
	// MaxRetries of an address that may come when it is tried again, 0 to 10.
	MaxRetries int `config:"max_retries"`
	// RunningPerUser tasks of a user are worked on at the same time; more wait.
	RunningPerUser int `config:"running_per_user"`
	// MaxTasksPerUser tasks of a user may wait and run; more are refused.
	MaxTasksPerUser int `config:"max_tasks_per_user"`
	// MaxChars of text are kept of a page, 1,000 to 1,000,000.
	MaxChars int `config:"max_chars"`
	// KeepResults is how long results are kept after the end of their task, and
	// KeepTasks how long the task itself is.
	KeepResults time.Duration `config:"keep_results"`
	KeepTasks   time.Duration `config:"keep_tasks"`
}

// DefaultConfig is what holds where the configuration says nothing.
func DefaultConfig() Config {
	return Config{
		HostGap: defaultHostGap, MaxRetries: defaultMaxRetries, RunningPerUser: defaultRunningPerUser, MaxTasksPerUser: defaultMaxTasks,
		MaxChars: defaultMaxChars, KeepResults: defaultKeepResults, KeepTasks: defaultKeepTasks,
	}
}

// Validate names every value that is out of range.
func (c Config) Validate() error {
	var errs []error
	bad := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(c.HostGap >= 0 && c.HostGap <= maxHostGap, "tasks.host_gap is %s: it must be 0 to %s", c.HostGap, maxHostGap)
	bad(c.MaxRetries >= 0 && c.MaxRetries <= maxRetriesCap, "tasks.max_retries is %d: it must be 0 to %d", c.MaxRetries, maxRetriesCap)
	bad(c.RunningPerUser >= 1, "tasks.running_per_user is %d: it must be 1 or more", c.RunningPerUser)
	bad(c.MaxTasksPerUser >= c.RunningPerUser, "tasks.max_tasks_per_user is %d: it must be at least running_per_user, which is %d", c.MaxTasksPerUser, c.RunningPerUser)
	bad(c.MaxChars >= 1_000 && c.MaxChars <= 1_000_000, "tasks.max_chars is %d: it must be 1000 to 1000000", c.MaxChars)
	bad(c.KeepResults >= shortestKeep, "tasks.keep_results is %s: it must be %s or longer", c.KeepResults, shortestKeep)
	bad(c.KeepTasks >= c.KeepResults, "tasks.keep_tasks is %s: a task must be kept at least as long as its results, which is %s", c.KeepTasks, c.KeepResults)
	return errors.Join(errs...)
}
