package world

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// ConfigFile writes the world's configuration as config.yml, for the binary.
func (w *World) ConfigFile(t testing.TB) string {
	t.Helper()
	text, err := yaml.Marshal(plain(reflect.ValueOf(w.Config)))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "config.yml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// plain is a value of the configuration as YAML writes it, by the keys of its
// tags. Empty values are left to the defaults.
func plain(v reflect.Value) any {
	if d, ok := v.Interface().(time.Duration); ok {
		return d.String()
	}
	switch v.Kind() {
	case reflect.Struct:
		out := map[string]any{}
		for i := range v.NumField() {
			field := v.Type().Field(i)
			key, _, _ := strings.Cut(field.Tag.Get("config"), ",")
			switch {
			case field.Anonymous:
				for k, val := range plain(v.Field(i)).(map[string]any) {
					out[k] = val
				}
			case key != "" && !v.Field(i).IsZero():
				out[key] = plain(v.Field(i))
			}
		}
		return out
	case reflect.Map:
		out := map[string]any{}
		for _, k := range v.MapKeys() {
			out[k.String()] = plain(v.MapIndex(k))
		}
		return out
	case reflect.Slice:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = plain(v.Index(i))
		}
		return out
	case reflect.String: // also secrets, which do not print themselves
		return v.String()
	default:
		return v.Interface()
	}
}
