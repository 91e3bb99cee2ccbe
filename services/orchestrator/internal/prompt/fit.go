package prompt

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
)

const (
	// fitPercent of a window is filled as far as the estimate can tell; it may
	// miss by a third, as with program text.
	fitPercent = 75
	// keepResults of the newest tool results are left out only when whole
	// turns are gone and it is still too much.
	keepResults = 4
	// smallResult is not worth leaving out, in bytes.
	smallResult = 400
	// messageTokens is what a message costs beside its text.
	messageTokens = 6
)

// Fit makes history fit into a window of so many tokens beside fixed tokens:
// what is always sent, and the room for the answer. The cheapest loss comes
// first: old tool results, oldest first, then whole old turns, then the results
// of the turn at hand but for its last round. The last turn always stays, so
// that not every history can be made to fit. cut says that something was left
// out. A window of 0 means that it is not known: all stays.
func Fit(history []provider.Message, fixed, window int) (_ []provider.Message, cut bool) {
	if window <= 0 {
		return history, false
	}
	f := fitting{out: history, over: fixed - room(window)}
	for _, m := range history {
		f.over += Tokens(m)
	}
	if f.over <= 0 {
		return history, false
	}
	f.out = slices.Clone(history)
	f.dropResults(newest(f.out, provider.RoleTool, keepResults))
	f.dropTurns()
	f.dropResults(newest(f.out, provider.RoleAssistant, 1))
	return f.out, f.cut
}

// Fits reports whether so many guessed tokens fit into a window.
func Fits(tokens, window int) bool { return tokens <= room(window) }

// room is how many guessed tokens a window is filled with.
func room(window int) int { return window * fitPercent / 100 }

// fitting is a history on its way to fit.
type fitting struct {
	out  []provider.Message
	over int // tokens too many
	cut  bool
}

// dropResults puts a note in the place of results before the index.
func (f *fitting) dropResults(end int) {
	for i := range f.out[:end] {
		m := &f.out[i]
		if f.over <= 0 {
			return
		}
		if m.Role != provider.RoleTool || len(m.Content) <= smallResult {
			continue
		}
		before := Tokens(*m)
		m.Content = fmt.Sprintf("(An older result of %s was left out for its length.)", m.Name)
		f.over -= before - Tokens(*m)
		f.cut = true
	}
}

// dropTurns removes turns from the beginning, but the last.
func (f *fitting) dropTurns() {
	last := newest(f.out, provider.RoleUser, 1)
	for f.over > 0 && last > 0 {
		n := 1
		for n < last && f.out[n].Role != provider.RoleUser {
			n++
		}
		for _, m := range f.out[:n] {
			f.over -= Tokens(m)
		}
		f.out, last, f.cut = f.out[n:], last-n, true
	}
}

// newest is where the newest n messages of a role begin; 0 when there are no
// more than n.
func newest(ms []provider.Message, role provider.Role, n int) int {
	for i, m := range slices.Backward(ms) {
		if m.Role != role {
			continue
		}
		if n--; n == 0 {
			return i
		}
	}
	return 0
}

// Tokens guesses the tokens of a message: four ASCII characters make one, any
// other character is one. Reasoning is sent only with calls.
func Tokens(m provider.Message) int {
	n := messageTokens + TextTokens(m.Content) + TextTokens(string(m.Extra))
	if len(m.Calls) > 0 {
		n += TextTokens(m.Reasoning)
	}
	for _, c := range m.Calls {
		n += messageTokens + TextTokens(c.Name) + TextTokens(c.Arguments) + TextTokens(string(c.Extra))
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
