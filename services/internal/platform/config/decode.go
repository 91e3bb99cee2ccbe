package config

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/spelling"
)

// decoder writes one source after the other into the struct.
type decoder struct {
	root     reflect.Value
	origins  map[string]string
	secrets  map[string]SecretOrigin
	warnings []string
	errs     []error
	source   source
	visited  int // values so far: aliases can refer to themselves, or multiply
}

// Far more than any configuration has.
const (
	maxValues    = 20_000
	maxPathBytes = 500
	tooMany      = 2 * maxValues // reported: stop
)

// source is where the values come from.
type source struct {
	name   string
	lines  bool                             // name is a file: add the line
	loose  bool                             // text from outside YAML: lists may be comma-separated
	lookup func(name string) (string, bool) // expands ${NAME}; nil: no expansion
}

func (s source) at(n *yaml.Node) string {
	if s.lines && n != nil {
		return s.name + ":" + strconv.Itoa(n.Line)
	}
	return s.name
}

func (d *decoder) warn(format string, args ...any) {
	d.warnings = append(d.warnings, fmt.Sprintf(format, args...))
}

func (d *decoder) fail(n *yaml.Node, path, format string, args ...any) {
	where := d.source.at(n)
	if path != "" {
		where += ": " + path
	}
	d.errs = append(d.errs, errors.New(where+": "+fmt.Sprintf(format, args...)))
}

func (d *decoder) value(dst reflect.Value, path string, n *yaml.Node) {
	if d.visited++; d.visited > maxValues || len(path) > maxPathBytes {
		if d.visited < tooMany {
			d.visited = tooMany
			d.fail(n, clip(path), "too many values or too deep: does an alias refer to itself?")
		}
		return
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return
	}
	t := dst.Type()
	if d.source.loose && n.Kind == yaml.ScalarNode && !isScalar(deref(t)) {
		n = loosen(n.Value)
	}
	switch {
	case t.Kind() == reflect.Pointer:
		fresh := reflect.New(t.Elem())
		if !dst.IsNil() {
			fresh.Elem().Set(dst.Elem())
		}
		d.value(fresh.Elem(), path, n)
		dst.Set(fresh)
	case isScalar(t):
		d.scalar(dst, path, n)
	case t.Kind() == reflect.Struct:
		d.section(dst, path, n)
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		d.table(dst, path, n)
	case t.Kind() == reflect.Slice:
		d.list(dst, path, n)
	default:
		d.fail(n, path, "a field of type %s cannot be a setting", t)
	}
}

// loosen reads text that stands for a list or a section: YAML, or else
// comma-separated words.
func loosen(text string) *yaml.Node {
	if n, err := parse(strings.NewReader(text)); err == nil && n != nil && n.Kind != yaml.ScalarNode {
		return n
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: word})
		}
	}
	return list
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// pairs calls yield for the keys of a mapping, and reports what is no mapping
// and keys that are there twice.
func (d *decoder) pairs(path string, n *yaml.Node, yield func(key string, keyNode, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		d.fail(n, path, "expected a section of keys, got %s", kindOf(n))
		return
	}
	seen := make(map[string]int)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if line, twice := seen[key.Value]; twice {
			d.fail(key, join(path, key.Value), "is set twice, first in line %d", line)
			continue
		}
		seen[key.Value] = key.Line
		yield(key.Value, key, n.Content[i+1])
	}
}

func (d *decoder) section(dst reflect.Value, path string, n *yaml.Node) {
	d.pairs(path, n, func(key string, keyNode, value *yaml.Node) {
		f, ok := fieldNamed(dst.Type(), key)
		if !ok {
			d.fail(keyNode, join(path, key), "unknown key%s", didYouMean(d.meant(dst.Type(), path, key)))
			return
		}
		d.value(dst.FieldByIndex(f.index), join(path, key), value)
	})
}

// meant guesses the key that was meant: one of the same section, or the one of
// that name in another.
func (d *decoder) meant(section reflect.Type, path, key string) string {
	var siblings []string
	for _, f := range fields(section) {
		siblings = append(siblings, f.name)
	}
	if name := spelling.Nearest(key, siblings); name != "" {
		return join(path, name)
	}
	for _, other := range keyPaths(d.root.Type()) {
		if other == key || strings.HasSuffix(other, "."+key) {
			return other
		}
	}
	return ""
}

// table fills a map. Entries that were there stay; one that is named again
// keeps the keys that are not.
func (d *decoder) table(dst reflect.Value, path string, n *yaml.Node) {
	fresh := reflect.MakeMap(dst.Type())
	for entries := dst.MapRange(); entries.Next(); {
		fresh.SetMapIndex(entries.Key(), entries.Value())
	}
	d.pairs(path, n, func(key string, _, value *yaml.Node) {
		name := reflect.ValueOf(key).Convert(dst.Type().Key())
		entry := reflect.New(dst.Type().Elem()).Elem()
		if old := fresh.MapIndex(name); old.IsValid() {
			entry.Set(old)
		}
		d.value(entry, join(path, key), value)
		fresh.SetMapIndex(name, entry)
	})
	dst.Set(fresh)
}

func (d *decoder) list(dst reflect.Value, path string, n *yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		d.fail(n, path, "expected a list, got %s", kindOf(n))
		return
	}
	for key := range d.origins { // the list is replaced, and with it where its parts came from
		if strings.HasPrefix(key, path+"[") {
			delete(d.origins, key)
			delete(d.secrets, key)
		}
	}
	fresh := reflect.MakeSlice(dst.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		d.value(fresh.Index(i), path+"["+strconv.Itoa(i)+"]", item)
	}
	dst.Set(fresh)
	d.origins[path] = d.source.at(n)
}

func (d *decoder) scalar(dst reflect.Value, path string, n *yaml.Node) {
	if n.Kind != yaml.ScalarNode {
		d.fail(n, path, "expected %s, got %s", expected(dst.Type()), kindOf(n))
		return
	}
	text, shown := n.Value, strconv.Quote(clip(n.Value))
	var variables []string
	if d.source.lookup != nil {
		expanded, err := expand(text, func(name string) (string, bool) {
			variables = append(variables, name)
			return d.source.lookup(name)
		})
		if err != nil {
			d.fail(n, path, "%s", err.Error())
			return
		}
		if expanded != text {
			shown += " filled in" // a variable may hold a secret: do not show what it gave
		}
		text = expanded
	}
	if dst.Type() == secretType {
		clean := cleanSecret(text)
		if clean != text {
			d.warn("%s: %s: removed stray white space or quotes around the secret", d.source.at(n), path)
		}
		d.secrets[path] = SecretOrigin{Place: d.source.at(n), Variables: variables, Trimmed: clean != text, Empty: clean == ""}
		text = clean
	}
	if err := setScalar(dst, text); err != nil {
		d.fail(n, path, "expected %s, got %s", expected(dst.Type()), shown)
		return
	}
	d.origins[path] = d.source.at(n)
}

func setScalar(dst reflect.Value, text string) error {
	if dst.Type() == durationType {
		v, err := parseDuration(text)
		dst.SetInt(int64(v))
		return err
	}
	if u, ok := dst.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	number := strings.TrimSpace(text)
	switch dst.Kind() {
	case reflect.String:
		dst.SetString(text)
	case reflect.Bool:
		v, err := parseBool(number)
		dst.SetBool(v)
		return err
	case reflect.Float32, reflect.Float64:
		v, err := strconv.ParseFloat(number, dst.Type().Bits())
		dst.SetFloat(v)
		return err
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v, err := strconv.ParseInt(number, 10, dst.Type().Bits())
		dst.SetInt(v)
		return err
	default:
		v, err := strconv.ParseUint(number, 10, dst.Type().Bits())
		dst.SetUint(v)
		return err
	}
	return nil
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0":
		return false, nil
	}
	return false, strconv.ErrSyntax
}

// parseDuration reads "15s", "1h30m", or whole seconds.
func parseDuration(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
		return time.Duration(seconds) * time.Second, nil
	}
	return time.ParseDuration(text)
}

func expected(t reflect.Type) string {
	switch {
	case t == durationType:
		return `a duration such as "15s", or whole seconds`
	case reflect.PointerTo(t).Implements(textUnmarshaler):
		return "a " + t.String()
	}
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int64, reflect.Int32:
		return "a whole number"
	case reflect.Int8, reflect.Int16:
		return fmt.Sprintf("a whole number of %d bits", t.Bits())
	default:
		return "a whole number of 0 or more"
	}
}

// kindOf names what is there instead, without its content: it may be a secret
// in the wrong place.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a section of keys"
	case yaml.SequenceNode:
		return "a list"
	}
	return "a single value"
}

func clip(s string) string {
	const maxShown = 60
	if r := []rune(s); len(r) > maxShown {
		return string(r[:maxShown]) + "…"
	}
	return s
}
