//go:build e2e

package e2e

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
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

// object is a part of a script.
type object = map[string]any

// script is that of the file, and before it the turns that are too long to be
// written out.
func script(t testing.TB) string {
	t.Helper()
	var s struct {
		Model string   `yaml:"model" json:"model"`
		Turns []object `yaml:"turns" json:"turns"`
	}
	if err := yaml.Unmarshal(fixedTurns, &s); err != nil {
		t.Fatal(err)
	}
	s.Turns = append([]object{longTurn(), floodTurn()}, s.Turns...)
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// longTurn writes and counts by turns, and sums up at the end.
func longTurn() object {
	var replies []object
	for i := range longRounds {
		tool := "hands__look"
		if i == heldRound {
			tool = "hands__tally"
		}
		replies = append(replies, object{"steps": []object{
			{"reasoning": fmt.Sprintf("This is chapter %d. ", i)},
			{"text": prose(fmt.Sprintf("chapter %d", i), 1200)},
			{"call": object{"name": tool, "arguments": object{"name": fmt.Sprintf("chapter-%d", i)}}},
		}})
	}
	replies = append(replies, object{"steps": []object{{"text": prose("the end", 6000)}}})
	return object{"when": object{"user_contains": "a long story"}, "replies": replies}
}

// floodTurn writes for as long as it takes to measure.
func floodTurn() object {
	text := prose("flood", floodCharacters)
	var steps []object
	for len(text) > 0 {
		n := min(floodPiece, len(text))
		steps = append(steps, object{"text": text[:n]}, object{"delay_ms": floodPause})
		text = text[n:]
	}
	return object{"when": object{"user_contains": "a flood"}, "replies": []object{{"steps": steps}}}
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
