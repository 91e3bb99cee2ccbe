package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestASecretShowsOnlyItsEnds(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "short": "…", "123456789012345": "…", "sk-0123456789abcdef9f": "sk-…9f", "pässword-with-umlauts": "…",
	} {
		if got := Secret(text).String(); got != want {
			t.Errorf("String(%q) = %q, want %q", text, got, want)
		}
		if got := Secret(text).Reveal(); got != text {
			t.Errorf("Reveal = %q", got)
		}
	}
}

func TestASecretNeverPrintsItself(t *testing.T) {
	const inside = "0123456789abcdef"
	s := Secret("sk-" + inside + "9f")
	holder := struct {
		Key  Secret
		Keys []Secret
		Map  map[string]Secret
	}{s, []Secret{s}, map[string]Secret{"k": s}}

	outputs := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%e", "%c", "%T %v"} {
		args := []any{s}
		if strings.Contains(verb, "%T") {
			args = []any{s, s}
		}
		outputs["fmt "+verb] = fmt.Sprintf(verb, args...)
		outputs["fmt struct "+verb] = fmt.Sprintf(strings.ReplaceAll(verb, "%T ", ""), holder)
	}
	outputs["GoString"] = s.GoString()
	j, err := json.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	outputs["json"] = string(j)
	y, err := yaml.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	outputs["yaml"] = string(y)
	var text, js bytes.Buffer
	slog.New(slog.NewTextHandler(&text, nil)).Info("x", "key", s, "holder", holder)
	slog.New(slog.NewJSONHandler(&js, nil)).Info("x", "key", s, "holder", holder)
	outputs["slog text"], outputs["slog json"] = text.String(), js.String()
	outputs["error"] = fmt.Errorf("bad key %w", fmt.Errorf("%s", s)).Error()

	for how, out := range outputs {
		if strings.Contains(out, inside) || strings.Contains(out, fmt.Sprintf("%x", inside)) || strings.Contains(out, fmt.Sprintf("%X", inside)) {
			t.Errorf("%s shows the secret: %s", how, out)
		}
	}
	if got := fmt.Sprintf("%v %q %#v", s, s, s); got != `sk-…9f "sk-…9f" "sk-…9f"` {
		t.Errorf("masked form = %s", got)
	}
}

func TestCleanSecret(t *testing.T) {
	for text, want := range map[string]string{
		"plain": "plain", " sk-1\r\n": "sk-1", `"sk-1"`: "sk-1", "“sk-1”": "sk-1", "\ufeffsk-1\u200b": "sk-1", "in side": "in side", " \n": "",
	} {
		if got := cleanSecret(text); got != want {
			t.Errorf("cleanSecret(%q) = %q, want %q", text, got, want)
		}
	}
}
