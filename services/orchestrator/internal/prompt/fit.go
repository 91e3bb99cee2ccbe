package prompt

import (
	"unicode/utf8"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
)

const (
	// fitPercent of a window is for the prompt; the rest is for the answer and
	// for what the estimate misses.
	fitPercent = 75
	// keepResults of the newest tool results are never left out.
	keepResults = 4
	// smallResult is not worth leaving out, in bytes.
	smallResult = 400
	// messageTokens is what a message costs beside its text.
	messageTokens = 6
)

// Fit makes history fit into a window of so many tokens beside fixed tokens that
// are always sent. The cheapest loss comes first: old tool results, oldest
// first, then whole old turns. The last turn always stays. cut says that
// something was left out. A window of 0 means that it is not known: all stays.
func Fit(history []provider.Message, fixed, window int) (_ []provider.Message, cut bool) {
	if window <= 0 {
		return history, false
	}
	budget := window*fitPercent/100 - fixed
	total := 0
	for _, m := range history {
		total += Tokens(m)
	}
	if total <= budget {
		return history, false
	}
	out := append([]provider.Message{}, history...)
	last := lastTurn(out)
	results := 0
	for i := range out {
		if out[i].Role == provider.RoleTool {
			results++
		}
	}
	for i := 0; i < len(out) && total > budget && results > keepResults; i++ {
		if out[i].Role != provider.RoleTool {
			continue
		}
		results--
		if len(out[i].Content) <= smallResult {
			continue
		}
		before := Tokens(out[i])
		out[i].Content = dropped(out[i])
		total += Tokens(out[i]) - before
	}
	for total > budget && last > 0 {
		next := 1
		for next < last && out[next].Role != provider.RoleUser {
			next++
		}
		for _, m := range out[:next] {
			total -= Tokens(m)
		}
		out, last = out[next:], last-next
	}
	return out, true
}

// lastTurn is the index of the last user message.
func lastTurn(ms []provider.Message) int {
	for i := len(ms) - 1; i >= 0; i-- {
		if ms[i].Role == provider.RoleUser {
			return i
		}
	}
	return 0
}

// Tokens guesses the tokens of a message: four ASCII characters make one, any
// other character is one.
func Tokens(m provider.Message) int {
	n := messageTokens + TextTokens(m.Content) + TextTokens(m.Reasoning)
	for _, c := range m.Calls {
		n += messageTokens + TextTokens(c.Name) + TextTokens(c.Arguments)
	}
	return n
}

// TextTokens guesses the tokens of a text.
func TextTokens(s string) int {
	ascii, wide := 0, 0
	for _, r := range s {
		if r < utf8.RuneSelf {
			ascii++
		} else {
			wide++
		}
	}
	return (ascii+3)/4 + wide
}
