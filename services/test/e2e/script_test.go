//go:build e2e

package e2e

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/nanoclaw/nanoclaw/services/internal/modelserver"
)

//go:embed script.yml
var fixedTurns []byte

const (
	// longRounds of the long answer call a tool each.
	longRounds = 12
	// heldRound of them calls one that waits until it is released.
	heldRound = 6
	// floodCharacters are written in pieces, floodPause milliseconds apart.
	floodCharacters, floodPiece, floodPause = 60_000, 300, 40
)

// script is that of the file, and before it the turns that are too long to be
// written out.
func script(t testing.TB) string {
	t.Helper()
	s, err := modelserver.Parse(fixedTurns)
	if err != nil {
		t.Fatal(err)
	}
	s.Turns = append([]modelserver.Turn{longTurn(), floodTurn()}, s.Turns...)
	text, err := yaml.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// longTurn writes and counts by turns, and sums up at the end.
func longTurn() modelserver.Turn {
	turn := modelserver.Turn{When: modelserver.Condition{UserContains: "a long story"}}
	for i := range longRounds {
		tool := "hands__look"
		if i == heldRound {
			tool = "hands__tally"
		}
		turn.Replies = append(turn.Replies, modelserver.Reply{Steps: []modelserver.Step{
			{Reasoning: fmt.Sprintf("This is chapter %d. ", i)},
			{Text: prose(fmt.Sprintf("chapter %d", i), 1200)},
			{Call: &modelserver.Call{Name: tool, Arguments: map[string]any{"name": fmt.Sprintf("chapter-%d", i)}}},
		}})
	}
	turn.Replies = append(turn.Replies, modelserver.Reply{Steps: []modelserver.Step{{Text: prose("the end", 6000)}}})
	return turn
}

// floodTurn writes for as long as it takes to measure.
func floodTurn() modelserver.Turn {
	text := prose("flood", floodCharacters)
	var steps []modelserver.Step
	for len(text) > 0 {
		n := min(floodPiece, len(text))
		steps = append(steps, modelserver.Step{Text: text[:n]}, modelserver.Step{DelayMS: floodPause})
		text = text[n:]
	}
	return modelserver.Turn{When: modelserver.Condition{UserContains: "a flood"}, Replies: []modelserver.Reply{{Steps: steps}}}
}

// prose is Markdown of about so many characters in which no sentence is like
// another.
func prose(of string, characters int) string {
	var b strings.Builder
	for i := 0; b.Len() < characters; i++ {
		switch {
		case i%40 == 10:
			fmt.Fprintf(&b, "## Part %d of %s\n\n", i, of)
		case i%40 == 20:
			fmt.Fprintf(&b, "- point %d of %s\n- and **another** one\n\n", i, of)
		case i%40 == 30:
			fmt.Fprintf(&b, "```python\nfor i in range(%d):\n    print(i, %q)\n```\n\n", i, of)
		default:
			fmt.Fprintf(&b, "Sentence %d of %s says something that no other one says, *plainly* and with `code`.\n\n", i, of)
		}
	}
	return b.String()
}
