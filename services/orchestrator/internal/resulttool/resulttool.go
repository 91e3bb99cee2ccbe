// Package resulttool is the orchestrator's own tool provider. It has read_result,
// by which the model reads on in a result that was cut.
package resulttool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/result"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

const (
	// Name of the tool.
	Name = "read_result"

	defaultChars = 10_000
	minChars     = 100
	maxChars     = 20_000
	timeout      = 15 * time.Second
)

type arguments struct {
	ResultID string `json:"result_id" jsonschema:"id of the result, as the cut result gave it"`
	Offset   int    `json:"offset,omitempty" jsonschema:"first character to read"`
	MaxChars int    `json:"max_chars,omitempty" jsonschema:"how many characters to read"`
}

type answer struct {
	Success    bool   `json:"success"`
	ResultID   string `json:"result_id"`
	Tool       string `json:"tool"`
	Offset     int    `json:"offset"`
	TotalChars int    `json:"total_chars"`
	NextOffset int    `json:"next_offset"` // 0 at the end
	Markdown   string `json:"markdown"`
}

// New makes the provider.
func New(runs *run.Store, results *result.Keeper, log *slog.Logger) (*toolkit.Provider, error) {
	p := toolkit.New(toolkit.Config{Name: "orchestrator", Logger: log})
	err := toolkit.Add(p, toolkit.Tool{
		Name: Name, Title: "Read a result", Version: "1",
		Description: "Reads on in a tool result that was cut. Give the result_id and the offset that the cut result names.",
		Effect:      toolkit.EffectPure, Sink: toolkit.SinkRead, Timeout: timeout,
		// Reading the same page twice in a row is a loop; other pages are
		// other arguments.
		Schema: func(s *jsonschema.Schema) {
			bound(s.Properties["offset"], 0, 1<<30, 0)
			bound(s.Properties["max_chars"], minChars, maxChars, defaultChars)
		},
	}, func(ctx context.Context, _ *toolkit.Call, in arguments) (toolkit.Result, error) {
		return read(ctx, runs, results, log, in)
	})
	if err != nil {
		return nil, fmt.Errorf("tool %s: %w", Name, err)
	}
	return p, nil
}

func bound(s *jsonschema.Schema, low, high float64, value int) {
	s.Minimum, s.Maximum = &low, &high
	s.Default = json.RawMessage(fmt.Sprint(value))
}

func read(ctx context.Context, runs *run.Store, results *result.Keeper, log *slog.Logger, in arguments) (toolkit.Result, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return toolkit.Result{}, err
	}
	c, err := runs.Call(ctx, p.UserID, in.ResultID)
	if errors.Is(err, run.ErrNotFound) || (err == nil && !c.Terminal()) {
		return toolkit.Fail("RESULT_NOT_FOUND", fmt.Sprintf("There is no result %q. Use the result_id of a result that was cut.", in.ResultID), false), nil
	}
	if err != nil {
		return toolkit.Result{}, err
	}
	whole, err := results.Whole(ctx, c)
	if errors.Is(err, result.ErrGone) {
		return toolkit.Fail("RESULT_GONE", "The result is not stored any more. Make the call again.", false), nil
	}
	if errors.Is(err, blob.ErrUnavailable) {
		log.WarnContext(ctx, "a stored result was not read", "result", c.ID, "error", err)
		return toolkit.Fail("RESULT_STORE_UNAVAILABLE", "The store of long results is not reachable at the moment. Try again later.", true), nil
	}
	if err != nil {
		return toolkit.Result{}, err
	}
	source := result.ModelSource(whole)
	total := utf8.RuneCountInString(source)
	if in.Offset > 0 && in.Offset >= total {
		return toolkit.Fail("OFFSET_BEYOND_END", fmt.Sprintf("The result has %d characters; offset %d is beyond its end.", total, in.Offset), false), nil
	}
	text, more := result.Page(source, in.Offset, in.MaxChars, c.ID)
	out := answer{Success: true, ResultID: c.ID, Tool: c.Name, Offset: in.Offset, TotalChars: total, Markdown: text}
	if more {
		out.NextOffset = in.Offset + in.MaxChars
	}
	r := toolkit.JSON(out)
	r.Origins = c.Origins
	return r, nil
}
