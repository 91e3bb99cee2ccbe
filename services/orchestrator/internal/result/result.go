// Package result keeps what tools answered: whole for whoever reads it later,
// cut for the model's prompt, and never cut silently.
package result

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/storable"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// Characters of a result that the model gets, by kind of result.
const (
	LogChars      = 2_000
	DocumentChars = 5_000
	WebChars      = 10_000
	DataChars     = 24_000
)

const (
	// maxInlineBytes is how large a result may be to stand in the database and
	// in events. A larger one goes to the blob store.
	maxInlineBytes = 32 << 10
	// previewChars of a larger one stand in its place.
	previewChars = 2_000
	// charsPerToken is the least that there may be: a Chinese character is
	// about a token, and the share of the window is a promise.
	charsPerToken = 1
	// minChars of a result reach the model, however many share the window.
	minChars = 500
	// putTime is how long the blob store may take for one result.
	putTime = 20 * time.Second
)

// ErrGone says that a stored result is not in the blob store any more.
var ErrGone = errors.New("result: no longer stored")

// Limit is how many characters of a result of the kind the model gets, when
// calls results of one round share a quarter of a window of so many tokens.
func Limit(kind string, window, calls int) int {
	limit := DataChars
	switch kind {
	case "log":
		limit = LogChars
	case "document":
		limit = DocumentChars
	case "web":
		limit = WebChars
	}
	if window > 0 && calls > 0 {
		limit = min(limit, window/4*charsPerToken/calls)
	}
	return max(limit, minChars)
}

// Keeper keeps results.
type Keeper struct{ Bucket blob.Bucket }

// Keep puts a result into c: Result is what API readers get, ModelText what
// the model gets, at most limit characters of it. A store that does not answer
// within 20 seconds is a blob.ErrUnavailable.
func (k *Keeper) Keep(ctx context.Context, c *schema.ToolCall, contentJSON string, limit int) error {
	source := ModelSource(contentJSON)
	c.Result, c.ResultBlob, c.ResultChars = contentJSON, "", utf8.RuneCountInString(source)
	c.ModelText, c.Truncated = Page(source, 0, limit, c.ID)
	if len(contentJSON) <= maxInlineBytes {
		return nil
	}
	key := "results/" + c.UserID + "/" + c.ID
	if err := k.put(ctx, key, contentJSON); err != nil {
		return fmt.Errorf("store result of call %s: %w", c.ID, err)
	}
	c.Result, c.ResultBlob, c.Truncated = preview(source, c), key, true
	return nil
}

func (k *Keeper) put(ctx context.Context, key, contentJSON string) error {
	bounded, cancel := context.WithTimeout(ctx, putTime)
	defer cancel()
	err := k.Bucket.Put(bounded, key, []byte(contentJSON), "application/json")
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: it did not answer within %s: %w", blob.ErrUnavailable, putTime, err)
	}
	return err
}

// preview stands for a result that is too large to be sent whole.
func preview(source string, c *schema.ToolCall) string {
	head, _ := cut(source, 0, previewChars)
	b, err := json.Marshal(map[string]any{
		"truncated": true, "result_id": c.ID, "total_chars": c.ResultChars, "preview": head,
	})
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return string(b)
}

// Whole reads the whole JSON text of a result.
func (k *Keeper) Whole(ctx context.Context, c schema.ToolCall) (string, error) {
	if c.ResultBlob == "" {
		return c.Result, nil
	}
	b, err := k.Bucket.Get(ctx, c.ResultBlob)
	if errors.Is(err, blob.ErrNotFound) {
		return "", ErrGone
	}
	if err != nil {
		return "", fmt.Errorf("read result of call %s: %w", c.ID, err)
	}
	return string(b), nil
}

// Delete removes results from the blob store, by their keys. It goes on after a
// failure. Removing what is not there is none.
func (k *Keeper) Delete(ctx context.Context, keys []string) error {
	var failed error
	for _, key := range keys {
		failed = errors.Join(failed, k.Bucket.Delete(ctx, key))
	}
	return failed
}

// markdown is the member of a result that is written for the model.
const markdown = "markdown"

// ModelSource is the text that the model reads of a result: its member markdown
// where that has any text, else the JSON text itself.
func ModelSource(contentJSON string) string {
	var members map[string]json.RawMessage // a struct would take "Markdown" for it too
	var text string
	if json.Unmarshal([]byte(contentJSON), &members) == nil && json.Unmarshal(members[markdown], &text) == nil && strings.TrimSpace(text) != "" {
		return storable.Text(text)
	}
	return contentJSON
}

// Page is a page of a result's text, from a character on and of at most limit
// characters. Where more follows the page says how to read on.
func Page(source string, offset, limit int, resultID string) (text string, truncated bool) {
	text, more := cut(source, offset, limit)
	if !more {
		return text, false
	}
	end := offset + utf8.RuneCountInString(text)
	return fmt.Sprintf("%s\n\n[Cut: characters %d to %d of %d. Read on with read_result(result_id=%q, offset=%d).]",
		text, offset, end, utf8.RuneCountInString(source), resultID, end), true
}

// cut takes at most limit characters from offset on.
func cut(s string, offset, limit int) (part string, more bool) {
	for ; offset > 0 && s != ""; offset-- {
		_, n := utf8.DecodeRuneInString(s)
		s = s[n:]
	}
	end := 0
	for ; limit > 0 && end < len(s); limit-- {
		_, n := utf8.DecodeRuneInString(s[end:])
		end += n
	}
	return s[:end], end < len(s)
}

// Failure is the JSON text of a failed call, in the shape that every tool uses.
func Failure(reason, message string, retryable bool) string {
	b, err := json.Marshal(map[string]any{
		"success": false,
		"error":   map[string]any{"reason": reason, "message": message, "retryable": retryable},
	})
	if err != nil {
		panic(err) // strings and a boolean always encode
	}
	return string(b)
}

// WithMember adds a member to a result that is a JSON object, and to the text
// that the model reads of it. Other results stay as they are.
func WithMember(contentJSON, name string, value any) string {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(contentJSON), &members) != nil || members == nil {
		return contentJSON
	}
	b, err := json.Marshal(value)
	if err != nil {
		return contentJSON
	}
	members[name] = b
	var text string
	if json.Unmarshal(members[markdown], &text) == nil && strings.TrimSpace(text) != "" {
		if members[markdown], err = json.Marshal(text + "\n\n(" + name + ": " + string(b) + ")"); err != nil {
			return contentJSON
		}
	}
	out, err := json.Marshal(members)
	if err != nil {
		return contentJSON
	}
	return string(out)
}
