package provider

import "testing"

func TestModelsAreKnownByTheNamesThatListsGiveThem(t *testing.T) {
	for _, c := range []struct {
		listed, model string
		same          bool
	}{
		{"glm-5", "glm-5", true},
		{"qwen3:latest", "qwen3", true},
		{"qwen3:8b", "qwen3", false},
		{"models/gemini-3-pro", "gemini-3-pro", true},
		{"gemini-3-pro", "models/gemini-3-pro", true},
		{"vendor/model", "vendor/model:free", true},
		{"glm-5-air", "glm-5", false},
		{"", "glm-5", false},
	} {
		if got := sameModel(c.listed, c.model); got != c.same {
			t.Errorf("listed %q, wanted %q: same = %t", c.listed, c.model, got)
		}
	}
}

func FuzzCatalogue(f *testing.F) {
	for _, seed := range []string{`{"data":[{"id":"m"}]}`, `{"data":[]}`, `{"data":null}`, `[]`, `<html>`, `{"data":[{"id":1}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var c Catalogue
		c.read(body, "m")
		if c.HasList == (c.Note != "") || c.Listed && c.Models == 0 {
			t.Errorf("%+v of %q", c, body)
		}
	})
}
