package bocha

import (
	"errors"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adaptertest"
)

var engine = New(Config{Key: "KEY"})

// known are the parameters of the engine that we send.
var known = []string{
	"query", "freshness", "summary", "include", "exclude", "count",
}

func TestEveryOptionIsExpressedOrNamed(t *testing.T) {
	adaptertest.Options(t, "", engine, known, adapter.OptionLanguage, adapter.OptionRegion)
}

func TestAnswersAreReadAsWritten(t *testing.T) { adaptertest.Answers(t, "", engine) }

func TestWithoutSettingsNothingIsAsked(t *testing.T) {
	if _, err := New(Config{}).Plan(adapter.Query{Text: "tea"}); !errors.Is(err, adapter.ErrNotConfigured) {
		t.Errorf("got %v", err)
	}
}

func TestAnswersOfOtherShapesAreReadForWhatTheyAre(t *testing.T) {
	adaptertest.Shapes(t, engine, adaptertest.Shape{File: "results", List: "data.webPages.value", Title: "name", URL: "url", Vital: []string{"code"}})
}

func FuzzParse(f *testing.F) { adaptertest.Fuzz(f, "", engine) }
