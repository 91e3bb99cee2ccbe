package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/terminal"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
)

// defaultConfigFile is read from the working directory when it is there.
const defaultConfigFile = "config.yml"

// settings are the flags of the commands that read the configuration.
type settings struct {
	file string
	// keys are the configuration keys that flags of the command set.
	keys map[string]string // flag → key
}

// addSettings gives a command --config and --data-dir, and flags for more keys.
func (s *settings) addSettings(cmd *cobra.Command, more ...settingFlag) {
	cmd.Flags().StringVar(&s.file, "config", "", "configuration file (default "+defaultConfigFile+" if there is one)")
	s.keys = map[string]string{}
	for _, f := range append([]settingFlag{{"data-dir", "data_dir", "folder of databases and results"}}, more...) {
		cmd.Flags().String(f.name, "", f.help)
		s.keys[f.name] = f.key
	}
}

// settingFlag is a flag that sets a configuration key.
type settingFlag struct{ name, key, help string }

// load reads the configuration that is in force for a command. Warnings are
// said at once. origins may be nil.
func (c *cli) load(cmd *cobra.Command, s *settings, origins map[string]string) (suite.Config, error) {
	file, required := s.file, true
	if file == "" {
		file = c.getenv("NANOCLAW_CONFIG")
	}
	if file == "" {
		file, required = defaultConfigFile, false
	}
	flags := map[string]any{}
	for name, key := range s.keys {
		if f := cmd.Flags().Lookup(name); f.Changed {
			flags[key] = f.Value.String()
		}
	}
	cfg, warnings, err := suite.Load(suite.LoadOptions{
		File: file, FileRequired: required, Env: c.env, Flags: flags, Origins: origins,
	})
	for _, w := range warnings {
		c.note("warning: %s", w)
	}
	return cfg, err
}

// getenv is the last value of a variable, empty when it is not set.
func (c *cli) getenv(name string) string {
	for _, entry := range slices.Backward(c.env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// note says something to the person, on stderr.
func (c *cli) note(format string, args ...any) {
	_, _ = fmt.Fprintln(c.stderr, "nanoclaw: "+terminal.Line(fmt.Sprintf(format, args...), maxNote))
}

// maxNote is the longest note in characters.
const maxNote = 2000
