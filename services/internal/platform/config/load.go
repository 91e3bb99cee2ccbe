package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/spelling"
)

// DefaultEnvPrefix starts the name of every environment variable that sets a key.
const DefaultEnvPrefix = "NANOCLAW_"

// FromFlags is the place of what was set on the command line.
const FromFlags = "command line"

// EnvAlias is a variable that stands for a key.
type EnvAlias struct{ Variable, Key string }

// Sources are the places that Load reads, weakest first.
type Sources struct {
	// File is a YAML file; empty for none. "${NAME}" and "${NAME:-default}" in
	// its values are replaced from Env, "$${" is a plain "${".
	File string
	// FileRequired makes a missing file an error.
	FileRequired bool
	// Env is the environment in the form of os.Environ. NANOCLAW_CRAWLER_TIMEOUT
	// sets crawler.timeout. Lists are comma-separated, or YAML. An empty
	// variable counts as not set.
	Env []string
	// EnvPrefix is DefaultEnvPrefix when empty.
	EnvPrefix string
	// EnvAliases are variables with names of their own for keys:
	// WEB_SEARCH_ADAPTER for search.adapter. The prefixed name wins, then the
	// first of several for one key.
	EnvAliases []EnvAlias
	// EnvIgnore are prefixed variables that are no keys, such as the one with
	// the path of the file.
	EnvIgnore []string
	// Flags maps keys to values given on the command line.
	Flags map[string]any
	// Origins, when not nil, is filled with the place each key was set: what
	// DumpOrigins prints.
	Origins map[string]string
	// Secrets, when not nil, is filled with what can be said of each secret that
	// was set, also of one that is empty, by its key.
	Secrets map[string]SecretOrigin
}

// Load fills cfg, a pointer to a struct that holds the defaults. The error names
// everything that is wrong, one line each; cfg is then not to be used. Warnings
// are things a person should hear about and the program can live with.
func Load(cfg any, src Sources) (warnings []string, err error) {
	dst := reflect.ValueOf(cfg)
	if dst.Kind() != reflect.Pointer || dst.IsNil() || dst.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("config: Load wants a pointer to a struct, got %T", cfg)
	}
	env := environ(src.Env)
	d := &decoder{root: dst.Elem(), origins: src.Origins, secrets: src.Secrets}
	if d.origins == nil {
		d.origins = make(map[string]string)
	}
	if d.secrets == nil {
		d.secrets = make(map[string]SecretOrigin)
	}
	if err := d.file(src, env); err != nil {
		return nil, err
	}
	if err := d.environment(src, env); err != nil {
		return nil, err
	}
	d.flags(src.Flags)
	return d.warnings, errors.Join(d.errs...)
}

func environ(list []string) map[string]string {
	env := make(map[string]string, len(list))
	for _, entry := range list {
		if name, value, ok := strings.Cut(entry, "="); ok {
			env[name] = value
		}
	}
	return env
}

func (d *decoder) file(src Sources, env map[string]string) error {
	if src.File == "" {
		return nil
	}
	f, err := os.Open(src.File)
	if errors.Is(err, fs.ErrNotExist) && !src.FileRequired {
		return nil
	}
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	defer f.Close()
	root, err := parse(f)
	if err != nil {
		return fmt.Errorf("%s: %w", src.File, err)
	}
	if root == nil {
		return nil
	}
	d.source = source{name: src.File, lines: true, lookup: func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}}
	d.value(d.root, "", root)
	return nil
}

// parse reads one YAML document; nil when there is none.
func parse(r io.Reader) (*yaml.Node, error) {
	var doc, more yaml.Node
	decoder := yaml.NewDecoder(r)
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("has more than one YAML document: join them into one")
	}
	return doc.Content[0], nil
}

func (d *decoder) environment(src Sources, env map[string]string) error {
	prefix := src.EnvPrefix
	if prefix == "" {
		prefix = DefaultEnvPrefix
	}
	paths := keyPaths(d.root.Type())
	keys := make(map[string]string, len(paths)) // variable -> key
	for _, key := range paths {
		name := prefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
		if other, taken := keys[name]; taken {
			return fmt.Errorf("config: keys %s and %s would share the variable %s: rename one", other, key, name)
		}
		keys[name] = key
	}
	set := make(map[string]string) // key -> variable that set it, among aliases
	for _, alias := range src.EnvAliases {
		name, key := alias.Variable, alias.Key
		if !slices.Contains(paths, key) {
			return fmt.Errorf("config: variable %s stands for %s, which is no key", name, key)
		}
		if env[name] == "" {
			continue
		}
		if first, twice := set[key]; twice {
			if env[first] != env[name] {
				d.warn("%s and %s both set %s and differ: %s is used", first, name, key, first)
			}
			continue
		}
		set[key] = name
		d.text(name, key, env[name])
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !strings.HasPrefix(name, prefix) || env[name] == "" || slices.Contains(src.EnvIgnore, name) {
			continue
		}
		if key, ok := keys[name]; ok {
			d.text(name, key, env[name])
			continue
		}
		d.warn("environment variable %s is no setting%s", name, didYouMean(spelling.Nearest(name, slices.Collect(maps.Keys(keys)))))
	}
	return nil
}

// text sets a key from the text of an environment variable.
func (d *decoder) text(variable, key, text string) {
	d.source = source{name: variable, loose: true}
	d.value(find(d.root, key), key, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text})
}

func (d *decoder) flags(flags map[string]any) {
	d.source = source{name: FromFlags, loose: true}
	paths := keyPaths(d.root.Type())
	for _, key := range slices.Sorted(maps.Keys(flags)) {
		if !slices.Contains(paths, key) {
			d.fail(nil, key, "unknown key%s", didYouMean(spelling.Nearest(key, paths)))
			continue
		}
		value := flags[key]
		if secret, ok := value.(Secret); ok {
			value = secret.Reveal() // it would encode as its mask
		}
		var n yaml.Node
		if err := n.Encode(value); err != nil {
			d.fail(nil, key, "a %T cannot be a setting", value)
			continue
		}
		d.value(find(d.root, key), key, &n)
	}
}
