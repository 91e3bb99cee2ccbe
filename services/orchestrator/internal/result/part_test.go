package result

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

func TestOfAResultThatCannotBeStoredIsKeptWhatFits(t *testing.T) {
	away := fmt.Errorf("dial 10.0.0.1: %w", blob.ErrUnavailable)
	encoded := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, tc := range []struct {
		name, content, begins string
		err                   error
		least                 int // characters that are kept
		says                  string
	}{
		{"text", encoded(strings.Repeat("tea ", 25_000)), `"tea tea`, away, 20_000, "is not reachable. The first "},
		{"text that is written for the model", encoded(map[string]any{"markdown": strings.Repeat("# Tea\n", 10_000), "raw": "x"}), "# Tea\n# Tea", away, 20_000, "is not reachable. The first "},
		{"Chinese", encoded(strings.Repeat("茶", 50_000)), `"茶茶`, away, 7_000, "The first "},
		{"bytes that are all escaped", encoded(strings.Repeat("\x01", 50_000)), `"\u0001`, away, 3_000, "The first "},
		{"a short text with much beside", encoded(map[string]any{"markdown": "Tea.", "raw": strings.Repeat("x", 50_000)}), "Tea.", away, 4, "Its text is kept, and nothing else of it."},
		{"a store that refuses", encoded(strings.Repeat("tea ", 25_000)), `"tea`, errors.New("AccessDenied at 10.0.0.1"), 20_000, "refuses it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			part := Part(tc.content, tc.err, true)
			var got struct {
				Success, Truncated bool
				Error              struct {
					Reason, Message string
					Retryable       bool
				}
				Markdown string
			}
			if err := json.Unmarshal([]byte(part), &got); err != nil {
				t.Fatal(err)
			}
			if got.Success || !got.Truncated || got.Error.Reason != "RESULT_NOT_STORED" || !got.Error.Retryable || !strings.Contains(got.Error.Message, tc.says) {
				t.Errorf("%+v", got.Error)
			}
			text, found := strings.CutPrefix(got.Markdown, got.Error.Message+"\n\n")
			if !found || !strings.HasPrefix(text, tc.begins) || utf8.RuneCountInString(text) < tc.least {
				t.Errorf("%d characters are kept: %.100q", utf8.RuneCountInString(text), text)
			}
			if len(part) > maxInlineBytes || strings.Contains(part, "10.0.0.1") {
				t.Errorf("%d bytes", len(part))
			}
		})
	}
}

// silent is a blob store that never answers.
type silent struct{ blob.Bucket }

func (silent) Put(ctx context.Context, _ string, _ []byte, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestAStoreThatDoesNotAnswerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &Keeper{Bucket: silent{}}
		begun := time.Now()
		err := k.Keep(t.Context(), &schema.ToolCall{ID: "call_1"}, strings.Repeat("x", maxInlineBytes+1), 100)
		if took := time.Since(begun); !errors.Is(err, blob.ErrUnavailable) || took != putTime {
			t.Errorf("%v after %s", err, took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err = k.Keep(ctx, &schema.ToolCall{ID: "call_1"}, strings.Repeat("x", maxInlineBytes+1), 100)
		if errors.Is(err, blob.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the caller left: %v", err)
		}
	})
}
