package config

import (
	"reflect"
	"strings"
	"testing"
)

func TestExpand(t *testing.T) {
	env := map[string]string{"A": "1", "EMPTY": "", "NESTED": "${A}"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	for _, tc := range []struct{ name, text, want, err string }{
		{"no variable", "plain $HOME $ {x}", "plain $HOME $ {x}", ""},
		{"one", "${A}", "1", ""},
		{"several", "a${A}b${A}", "a1b1", ""},
		{"set but empty", "[${EMPTY}]", "[]", ""},
		{"default for an unset one", "${B:-two}", "two", ""},
		{"default for an empty one", "${EMPTY:-two}", "two", ""},
		{"empty default", "${B:-}", "", ""},
		{"default not needed", "${A:-two}", "1", ""},
		{"default with odd characters", "${B:-http://h:1/?a=:-b}", "http://h:1/?a=:-b", ""},
		{"escaped", "$${A} and ${A}", "${A} and 1", ""},
		{"a value is not expanded again", "${NESTED}", "${A}", ""},
		{"unset", "${B}", "", "environment variable B is not set"},
		{"open", "x ${A", "", "without"},
		{"empty name", "${}", "", "no variable name"},
		{"bad name", "${A-B}", "", "no variable name"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := expand(tc.text, lookup)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("err = %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil || got != tc.want {
				t.Errorf("expand = %q, %v, want %q", got, err, tc.want)
			}
		})
	}
}

func FuzzExpand(f *testing.F) {
	for _, seed := range []string{"", "${A}", "$${A}", "${A:-${B}}", "$$$${", "${", "}", "${A}${B:-x}$", "${é}"} {
		f.Add(seed, "value")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		looked := 0
		got, err := expand(text, func(string) (string, bool) { looked++; return value, true })
		if err != nil {
			if got != "" {
				t.Errorf("an error with the text %q", got)
			}
			return
		}
		if !strings.Contains(text, "${") && got != text {
			t.Errorf("%q without a variable became %q", text, got)
		}
		// Escaping every "${" of any text gives that text back.
		if back, err := expand(strings.ReplaceAll(text, "${", "$${"), nil); err != nil || back != text {
			t.Errorf("escaped %q came back as %q, %v", text, back, err)
		}
		if max := len(text) + looked*len(value); len(got) > max {
			t.Errorf("%d bytes from %d", len(got), max)
		}
	})
}

func TestAnAliasOfItselfIsAnError(t *testing.T) {
	type item struct {
		Items []item `config:"items"`
	}
	for _, text := range []string{
		"items: &a [{items: *a}]",
		"items: &a [{items: *a}, {items: *a}, {items: *a}]",
	} {
		root, err := parse(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		var cfg item
		d := &decoder{root: reflect.ValueOf(&cfg).Elem(), origins: map[string]string{}, source: source{name: "x", lines: true}}
		d.value(d.root, "", root)
		if len(d.errs) != 1 || !strings.Contains(d.errs[0].Error(), "does an alias refer to itself?") {
			t.Errorf("%s: %d errors", text, len(d.errs))
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("models: [{id: a}]")
	f.Add("a: &a [*a]")
	f.Add("models: {<<: *x}")
	f.Add("name: !!binary x\nmodels: ~")
	type item struct {
		ID    string `config:"id"`
		Items []item `config:"items"`
	}
	f.Fuzz(func(t *testing.T, text string) {
		root, err := parse(strings.NewReader(text))
		if err != nil || root == nil {
			return
		}
		var cfg struct {
			Name   string          `config:"name"`
			Models []item          `config:"models"`
			Map    map[string]item `config:"map"`
			N      int             `config:"n"`
		}
		d := &decoder{root: reflect.ValueOf(&cfg).Elem(), origins: map[string]string{}, source: source{name: "fuzz", lines: true}}
		d.value(d.root, "", root)
		_ = Dump(cfg)
	})
}
