package world

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"testing"
)

// ErrBroken says that a stream ended without the run's last event.
var ErrBroken = errors.New("the stream ended before the run")

// Ask sends a message and reads the whole run. The stream may not break.
func (c *Client) Ask(t testing.TB, conversation, content string, headers ...string) *Transcript {
	t.Helper()
	var run Transcript
	if err := c.Send(t.Context(), conversation, map[string]any{"content": content}, run.Take, headers...); err != nil {
		t.Fatalf("ask %q: %v", content, err)
	}
	if run.Err != nil || !run.Ended() {
		t.Fatalf("ask %q: ended %v, %v", content, run.Ended(), run.Err)
	}
	return &run
}

// Send posts a message and passes the events of the run to got until it returns
// false or the stream ends.
func (c *Client) Send(ctx context.Context, conversation string, body map[string]any, got func(Event) bool, headers ...string) error {
	res, err := c.Do(ctx, "POST", "/api/conversations/"+conversation+"/messages", body, headers...)
	if err != nil {
		return err
	}
	return read(res, got)
}

// Watch passes the events of a run after an id to got until it returns false or
// the stream ends.
func (c *Client) Watch(ctx context.Context, runID string, after int, got func(Event) bool) error {
	var headers []string
	if after > 0 {
		headers = []string{"Last-Event-ID", strconv.Itoa(after)}
	}
	res, err := c.Do(ctx, "GET", "/api/runs/"+runID+"/events", nil, headers...)
	if err != nil {
		return err
	}
	return read(res, got)
}

func read(res *http.Response, got func(Event) bool) error {
	defer res.Body.Close()
	if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || kind != "text/event-stream" {
		text, _ := io.ReadAll(res.Body)
		return fmt.Errorf("%d %s: %s", res.StatusCode, kind, text)
	}
	Events(res.Body, got)
	return nil
}

// Resume goes on with a transcript until the run has ended.
func (c *Client) Resume(ctx context.Context, run *Transcript) error {
	if err := c.Watch(ctx, run.RunID, run.LastID, run.Take); err != nil {
		return err
	}
	if !run.Ended() {
		return ErrBroken
	}
	return run.Err
}

// Replay reads an ended run from its beginning.
func (c *Client) Replay(t testing.TB, runID string) *Transcript {
	t.Helper()
	run := &Transcript{RunID: runID}
	if err := c.Resume(t.Context(), run); err != nil {
		t.Fatalf("replay run %s: %v", runID, err)
	}
	return run
}

// Messages is the active branch of a conversation, all pages of it.
func (c *Client) Messages(t testing.TB, conversation string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for cursor := ""; ; {
		page := c.Data(t, "GET", "/api/conversations/"+conversation+"/messages?limit=100&cursor="+url.QueryEscape(cursor), nil)
		all = append(all, objects(page["items"])...)
		if page["has_more"] != true {
			return all
		}
		cursor, _ = page["next_cursor"].(string)
	}
}
