package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/terminal"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
)

// defaultConfigFile is read from the working directory when it is there.
const defaultConfigFile = "config.yml"

// settings are the flags of the commands that read the configuration.
type settings struct {
	file string
	// serving checks what only a server needs too.
	serving bool
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

// listenFlags are where a server listens.
var listenFlags = []settingFlag{
	{"http-addr", "http.addr", "HOST:PORT of the web app and the REST interface (default 127.0.0.1:3000)"},
	{"grpc-addr", "grpc.addr", "HOST:PORT of gRPC (default 127.0.0.1:3001)"},
	{"admin-addr", "admin.addr", "HOST:PORT of metrics, profiles and reflection (default 127.0.0.1:3002)"},
}

// configFile is the configuration file that is read; one that is not required may
// be missing.
func (c *cli) configFile(s *settings) (file string, required bool) {
	if s.file != "" {
		return s.file, true
	}
	if file = c.getenv("NANOCLAW_CONFIG"); file != "" {
		return file, true
	}
	return defaultConfigFile, false
}

// load reads the configuration that is in force for a command. Warnings are
// said at once. origins may be nil.
func (c *cli) load(cmd *cobra.Command, s *settings, origins map[string]string) (suite.Config, error) {
	cfg, warnings, err := c.read(cmd, s, origins)
	for _, w := range warnings {
		c.note("warning: %s", w)
	}
	if err != nil && ownFault(err) {
		err = &exitError{exitUsage, err}
	}
	return cfg, err
}

// ownFault says that everything wrong with a configuration is on the command
// line.
func ownFault(err error) bool {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if !strings.HasPrefix(line, config.FromFlags+": ") {
			return false
		}
	}
	return true
}

// read is load for who says the warnings.
func (c *cli) read(cmd *cobra.Command, s *settings, origins map[string]string) (suite.Config, []string, error) {
	flags := map[string]any{}
	for name, key := range s.keys {
		if f := cmd.Flags().Lookup(name); f.Changed {
			flags[key] = f.Value.String()
		}
	}
	file, required := c.configFile(s)
	return suite.Load(suite.LoadOptions{File: file, FileRequired: required, Env: c.env, Flags: flags, Origins: origins, Serving: s.serving})
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
