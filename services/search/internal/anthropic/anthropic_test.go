package anthropic

import (
	"errors"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adaptertest"
)

var engine = New(Config{Key: "KEY", Model: "small", InputUSD: 1, OutputUSD: 5})

// known are the parameters of the engine that we send.
var known = []string{
	"model", "max_tokens", "system", "messages", "messages.role", "messages.content", "tools", "tools.type", "tools.name", "tools.max_uses",
	"tools.allowed_callers", "tools.allowed_domains", "tools.blocked_domains", "tools.user_location", "tools.user_location.type",
	"tools.user_location.city", "tools.user_location.region", "tools.user_location.country", "tools.user_location.timezone",
	"tool_choice", "tool_choice.type", "tool_choice.name",
}

func TestEveryOptionIsExpressedOrNamed(t *testing.T) {
	adaptertest.Options(t, "", engine, known, adapter.OptionPassages)
}

func TestAnswersAreReadAsWritten(t *testing.T) { adaptertest.Answers(t, "", engine) }

func TestWithoutSettingsNothingIsAsked(t *testing.T) {
	if _, err := New(Config{}).Plan(adapter.Query{Text: "tea"}); !errors.Is(err, adapter.ErrNotConfigured) {
		t.Errorf("got %v", err)
	}
}

func TestAnswersOfOtherShapesAreReadForWhatTheyAre(t *testing.T) {
	adaptertest.Shapes(t, engine, adaptertest.Shape{
		File: "results", List: "content.1.content", Title: "title", URL: "url", Vital: []string{"content.1.type"},
	})
}

func FuzzParse(f *testing.F) { adaptertest.Fuzz(f, "", engine) }
