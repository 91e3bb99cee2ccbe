package searxng

import (
	"errors"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adaptertest"
)

var engine = New(Config{BaseURL: "https://searx.example/"})

// known are the parameters of the engine that we send.
var known = []string{
	"q", "format", "categories", "language", "pageno", "time_range", "safesearch",
}

func TestEveryOptionIsExpressedOrNamed(t *testing.T) { adaptertest.Options(t, "", engine, known) }

func TestAnswersAreReadAsWritten(t *testing.T) { adaptertest.Answers(t, "", engine) }

func TestWithoutSettingsNothingIsAsked(t *testing.T) {
	if _, err := New(Config{}).Plan(adapter.Query{Text: "tea"}); !errors.Is(err, adapter.ErrNotConfigured) {
		t.Errorf("got %v", err)
	}
}

func TestAnswersOfOtherShapesAreReadForWhatTheyAre(t *testing.T) {
	adaptertest.Shapes(t, engine, adaptertest.Shape{File: "results_of_all_engines", List: "results", Title: "title", URL: "url"})
}

func FuzzParse(f *testing.F) { adaptertest.Fuzz(f, "", engine) }
