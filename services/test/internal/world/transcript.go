package world

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Transcript is what a reader has of a run who follows the rules of an event
// stream: it keeps text[:offset] + content, drops the text of a restarted round,
// and resumes after the last id. It may take the events of many connections.
type Transcript struct {
	RunID string
	// LastID is the id to resume after, 0 before the first.
	LastID int
	// IDs of the logged events, in the order in which they came.
	IDs []int
	// Names of all events but pings, repetitions in a row left out.
	Names []string
	// Calls and Results are the tool events, by tool call, in order.
	Calls, Results []map[string]any
	// Notices and Restarts in order; Restarts are rounds.
	Notices  []map[string]any
	Restarts []int
	// Done or Error ended the run; nil before.
	Done, Error map[string]any
	// Err is the first breach of the rules by the stream.
	Err error

	text   map[textOf]string
	logged map[int]string // names of the logged events
}

type textOf struct {
	round int
	kind  string
}

// RoundText is the text of one round.
type RoundText struct {
	Round          int
	Thinking, Text string
}

// Ended reports whether the run's last event was taken.
func (t *Transcript) Ended() bool { return t.Done != nil || t.Error != nil }

// Take takes the next event and reports whether more may follow.
func (t *Transcript) Take(e Event) bool {
	if e.ID != "" {
		t.number(e)
	}
	if n := len(t.Names); e.Name != "ping" && (n == 0 || t.Names[n-1] != e.Name) {
		t.Names = append(t.Names, e.Name)
	}
	switch e.Name {
	case "run_started":
		t.RunID, _ = e.Data["run_id"].(string)
	case "thinking", "message":
		t.write(e)
	case "round_restarted":
		round := number(e.Data["round"])
		t.Restarts = append(t.Restarts, round)
		delete(t.text, textOf{round, "thinking"})
		delete(t.text, textOf{round, "message"})
	case "tool_call":
		t.Calls = append(t.Calls, objects(e.Data["calls"])...)
	case "tool_result":
		t.Results = append(t.Results, objects(e.Data["results"])...)
	case "notice":
		t.Notices = append(t.Notices, e.Data)
	case "done":
		t.Done = e.Data
	case "error":
		t.Error = e.Data
	}
	return !t.Ended()
}

func (t *Transcript) number(e Event) {
	id, err := strconv.Atoi(e.ID)
	if err != nil || id <= t.LastID {
		t.breach("event %s has id %q after %d", e.Name, e.ID, t.LastID)
		return
	}
	t.LastID = id
	t.IDs = append(t.IDs, id)
	if t.logged == nil {
		t.logged = map[int]string{}
	}
	t.logged[id] = e.Name
}

func (t *Transcript) write(e Event) {
	of := textOf{number(e.Data["round"]), e.Name}
	offset, had := number(e.Data["offset"]), t.text[of]
	if offset > len(had) {
		t.breach("%s of round %d goes on at %d, but ends at %d", e.Name, of.round, offset, len(had))
		return
	}
	if t.text == nil {
		t.text = map[textOf]string{}
	}
	content, _ := e.Data["content"].(string)
	t.text[of] = had[:offset] + content
}

func (t *Transcript) breach(format string, args ...any) {
	if t.Err == nil {
		t.Err = fmt.Errorf(format, args...)
	}
}

// IsText reports whether the logged event with the id is the text of a round,
// which readers who took it live are not sent again.
func (t *Transcript) IsText(id int) bool {
	return t.logged[id] == "thinking" || t.logged[id] == "message"
}

// Rounds is the text by round.
func (t *Transcript) Rounds() []RoundText {
	byRound := map[int]*RoundText{}
	for of, text := range t.text {
		r := byRound[of.round]
		if r == nil {
			r = &RoundText{Round: of.round}
			byRound[of.round] = r
		}
		if of.kind == "thinking" {
			r.Thinking = text
		} else {
			r.Text = text
		}
	}
	var out []RoundText
	for _, round := range slices.Sorted(maps.Keys(byRound)) {
		out = append(out, *byRound[round])
	}
	return out
}

// Text is the answer text of a round so far.
func (t *Transcript) Text(round int) string { return t.text[textOf{round, "message"}] }

// Thinking is the reasoning of a round so far.
func (t *Transcript) Thinking(round int) string { return t.text[textOf{round, "thinking"}] }

// Reason is why the run failed; empty when it did not.
func (t *Transcript) Reason() string {
	reason, _ := t.Error["reason"].(string)
	return reason
}

// Result is the content of the nth tool result, from 0, read as JSON.
func (t *Transcript) Result(n int) map[string]any {
	var out map[string]any
	if n < len(t.Results) {
		content, _ := t.Results[n]["content"].(string)
		_ = json.Unmarshal([]byte(content), &out)
	}
	return out
}

// StoredRounds is the text by round of a message as the API lists it.
func StoredRounds(message map[string]any) []RoundText {
	var t Transcript
	for _, step := range objects(message["steps"]) {
		name := map[any]string{"thinking": "thinking", "text": "message"}[step["type"]]
		if name != "" {
			t.write(Event{Name: name, Data: map[string]any{"round": step["round"], "content": step["content"]}})
		}
	}
	return t.Rounds()
}

func objects(list any) []map[string]any {
	items, _ := list.([]any)
	out := make([]map[string]any, 0, len(items))
	for _, item := range items {
		if o, ok := item.(map[string]any); ok {
			out = append(out, o)
		}
	}
	return out
}

// number reads a JSON number; what is left out is 0.
func number(v any) int {
	f, _ := v.(float64)
	return int(f)
}
