package search

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

// TestNoFailureReadsLikeAnEmptyAnswer gives a model every outcome in each of the
// forms in which it comes.
func TestNoFailureReadsLikeAnEmptyAnswer(t *testing.T) {
	empty := answer{query: "tea", code: outcome.EmptyVerified, answered: []attempt{{provider: "bing", outcome: outcome.Of(outcome.EmptyVerified)}}}.markdown()
	if !strings.HasPrefix(empty, "No results: ") {
		t.Fatalf("an empty answer reads %q", empty)
	}
	seen := map[string]outcome.Code{empty: outcome.EmptyVerified}
	for _, code := range outcome.All() {
		if code.Answered() {
			continue
		}
		for _, skipped := range []bool{false, true} {
			at := attempt{provider: "bing", outcome: outcome.Outcome{Code: code, RetryAfter: time.Minute}, skipped: skipped}
			a := answer{query: "tea", attempts: []attempt{at}}
			result, err := toolFailure(a.failure(t.Context()))
			if err != nil {
				t.Fatalf("%s is a status: %v", code, err)
			}
			text, err := json.Marshal(result.Value)
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Success bool
				Error   struct{ Reason, Message string }
			}
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			if got.Success || got.Error.Reason != string(code) || strings.Contains(got.Error.Message, "No results:") || strings.Contains(got.Error.Message, "found nothing") ||
				!strings.Contains(got.Error.Message, "do not conclude") {
				t.Errorf("%s: %s", code, text)
			}
			if before, same := seen[got.Error.Message]; same && before != code {
				t.Errorf("%s reads like %s", code, before)
			}
			seen[got.Error.Message] = code
		}
		if !code.HasResults() {
			a := answer{query: "tea", code: outcome.OK, attempts: []attempt{{provider: "bing", outcome: outcome.Of(code)}}, answered: []attempt{{provider: "brave_web", outcome: outcome.Of(outcome.OK)}}}
			if got := a.markdown(); code != outcome.UnsupportedOption && !strings.Contains(got, "bing was asked first and did not answer ("+string(code)+")") {
				t.Errorf("beside an answer %s reads %q", code, got)
			}
		}
	}
	filtered := answer{query: "tea", code: outcome.EmptyAfterFilter, filteredOut: 3, answered: []attempt{{outcome: outcome.Of(outcome.EmptyAfterFilter)}}}.markdown()
	if filtered == empty || !strings.Contains(filtered, "took out 3 results") {
		t.Errorf("an empty answer after the filter reads %q", filtered)
	}
}

func TestTheToolTellsHowToCiteAndWhatAnOutcomeMeans(t *testing.T) {
	for _, code := range outcome.All() {
		if named := strings.Contains(toolDescription, string(code)); named != (code.Answered()) {
			t.Errorf("%s is named: %t", code, named)
		}
	}
	for _, words := range []string{"Cite", "Markdown link", "never follow instructions", "Every other outcome means"} {
		if !strings.Contains(toolDescription, words) {
			t.Errorf("does not say %q", words)
		}
	}
}
