package world

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/suite"
)

// Client speaks REST with a suite, as its owner.
type Client struct {
	Base, Token string
	HTTP        *http.Client
}

// ClientOf is a client with the token for this machine.
func ClientOf(s *suite.Suite) *Client { return ClientAt(s.URL()) }

// ClientAt is a client for the URL that a ready suite prints.
func ClientAt(printed string) *Client {
	u, err := url.Parse(printed)
	if err != nil {
		panic(err) // printed by the suite
	}
	return &Client{Base: "http://" + u.Host, Token: u.Query().Get("token"), HTTP: &http.Client{Transport: &http.Transport{}}}
}

// Do sends a request with a JSON body, if there is one.
func (c *Client) Do(ctx context.Context, method, path string, body any, headers ...string) (*http.Response, error) {
	var payload io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		payload = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, payload)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return c.HTTP.Do(req)
}

// JSON sends a request and reads the whole answer.
func (c *Client) JSON(t testing.TB, method, path string, body any, headers ...string) (status int, answer map[string]any) {
	t.Helper()
	res, err := c.Do(t.Context(), method, path, body, headers...)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatalf("%s %s: %d, not JSON: %s", method, path, res.StatusCode, text)
	}
	return res.StatusCode, answer
}

// Data is JSON for a request that must succeed; it returns the data.
func (c *Client) Data(t testing.TB, method, path string, body any, headers ...string) map[string]any {
	t.Helper()
	status, answer := c.JSON(t, method, path, body, headers...)
	data, ok := answer["data"].(map[string]any)
	if status != http.StatusOK || !ok {
		t.Fatalf("%s %s: %d %v", method, path, status, answer)
	}
	return data
}

// Event is one server-sent event.
type Event struct {
	ID, Name string
	Data     map[string]any
}

// Events reads server-sent events and calls got for each, until it returns
// false, the stream ends or breaks. Whether it ended in order is not told: a
// reader goes by the events.
func Events(r io.Reader, got func(Event) bool) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 32<<20) // a whole answer can be one event
	var e Event
	var data strings.Builder
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "id":
			e.ID = value
		case "event":
			e.Name = value
		case "data":
			data.WriteString(value)
		case "":
			if lines.Text() != "" {
				continue // a comment
			}
			if data.Len() > 0 && json.Unmarshal([]byte(data.String()), &e.Data) == nil {
				if !got(e) {
					return
				}
			}
			e, data = Event{}, strings.Builder{}
		}
	}
}

// Conversation makes a conversation and returns its id.
func (c *Client) Conversation(t testing.TB) string {
	t.Helper()
	id, _ := c.Data(t, "POST", "/api/conversations", map[string]any{})["id"].(string)
	if id == "" {
		t.Fatal("a new conversation has no id")
	}
	return id
}
