package prompt

import (
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// talk has turns with one call each, whose results have so many ASCII
// characters, and a last question.
func talk(turns, chars int) []provider.Message {
	var branch []schema.Message
	rounds := map[string][]Round{}
	for i := range turns {
		run := string(rune('a' + i))
		branch = append(branch, user("question "+run), assistant(run, "answer "+run))
		rounds[run] = []Round{round("", "s="+strings.Repeat(run, chars)), round("answer " + run)}
	}
	return History(append(branch, user("last")), rounds, everywhere)
}

// left says what is left of each turn: a capital for a whole result, a small
// letter for one that was left out.
func left(ms []provider.Message) string {
	var b strings.Builder
	for _, m := range ms {
		switch {
		case m.Role == provider.RoleUser:
			b.WriteString(" u")
		case m.Role == provider.RoleTool && strings.HasPrefix(m.Content, "(An older result of s was left out"):
			b.WriteString("t")
		case m.Role == provider.RoleTool:
			b.WriteString("T")
		}
	}
	return strings.TrimSpace(b.String())
}

func TestTheCheapestLossComesFirst(t *testing.T) {
	ms := talk(6, 4000) // each result is about 1,000 tokens
	cases := []struct {
		name          string
		window, fixed int
		want          string
		cut           bool
	}{
		{"everything fits", 10_000, 0, "uT uT uT uT uT uT u", false},
		{"an unknown window", 0, 1 << 30, "uT uT uT uT uT uT u", false},
		{"one result too much", 8_000, 0, "ut uT uT uT uT uT u", true},
		{"the newest four results stay", 6_200, 0, "ut ut uT uT uT uT u", true},
		{"then turns go, oldest first", 4_500, 0, "uT uT uT u", true},
		{"what is fixed counts", 10_000, 4_300, "uT uT uT u", true},
		{"the last turn stays", 10, 0, "u", true},
		{"also when nothing fits", 1_000, 5_000, "u", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, cut := Fit(ms, c.fixed, c.window)
			if left(got) != c.want || cut != c.cut {
				t.Errorf("left %q (cut %t), want %q", left(got), cut, c.want)
			}
			checkFit(t, ms, c.fixed, c.window)
		})
	}
}

func TestALongTurnLosesItsOldResults(t *testing.T) {
	rounds := []Round{}
	for range 6 {
		rounds = append(rounds, round("", "s="+strings.Repeat("x", 4000)))
	}
	ms := WithRounds(History([]schema.Message{user("last")}, nil, everywhere), rounds, everywhere)
	for window, want := range map[int]string{8_500: "uTTTTTT", 8_000: "utTTTTT", 6_000: "uttTTTT", 2_500: "utttttT", 100: "utttttT"} {
		got, cut := Fit(ms, 0, window)
		if left(got) != want || cut != (want != "uTTTTTT") {
			t.Errorf("a window of %d leaves %q (cut %t), want %q", window, left(got), cut, want)
		}
	}
}

func TestNothingIsSaidToBeLeftOutWhenNothingIs(t *testing.T) {
	ms := History([]schema.Message{user(strings.Repeat("long ", 10_000))}, nil, everywhere)
	if got, cut := Fit(ms, 0, 1_000); cut || len(got) != 1 {
		t.Errorf("cut %t", cut)
	}
}

func TestTokensAreGuessedByScript(t *testing.T) {
	cases := []struct {
		text string
		want int
	}{{"", 0}, {"a", 1}, {"abcd", 1}, {"abcde", 2}, {"纳米爪", 3}, {"纳米 claw", 4}, {"\xff", 1}}
	for _, c := range cases {
		if got := TextTokens(c.text); got != c.want {
			t.Errorf("%q is %d tokens, want %d", c.text, got, c.want)
		}
	}
	m := provider.Message{Role: provider.RoleAssistant, Content: "abcd", Reasoning: "abcd", Extra: []byte(`{"a"}`)}
	plain := Tokens(m)
	m.Calls = []provider.Call{{Name: "abcd", Arguments: "{}"}}
	if got := Tokens(m) - plain; got != messageTokens+3 {
		t.Errorf("a call with its thinking adds %d tokens", got)
	}
}
