package cleanse

import "strings"

// speaker is who a line claims to be said by.
type speaker uint8

const (
	nobody speaker = iota
	system
	user
	assistant
	instruction
	response
)

var speakers = [...]struct {
	word string
	who  speaker
}{
	{"system", system}, {"developer", system}, {"system prompt", system}, {"system message", system},
	{"user", user}, {"human", user}, {"assistant", assistant}, {"instruction", instruction}, {"response", response},
}

// isDecoration tells what may stand before the name of a speaker in a line.
func isDecoration(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '#', '*', '>', '_', '"', '`', '-', '\\':
		return true
	}
	return false
}

// lineText is where the text of the line that begins at i begins, behind its
// decoration.
func lineText(s string, i int) int {
	for i < len(s) && isDecoration(s[i]) {
		i++
	}
	return i
}

// turn reads the name of a speaker at i, and where its colon is.
func turn(s string, i int) (colon int, who speaker) {
	if i == len(s) {
		return 0, nobody
	}
	switch s[i] | 0x20 {
	case 's', 'd', 'u', 'h', 'a', 'i', 'r':
	default:
		return 0, nobody
	}
	for _, sp := range speakers {
		end := i + len(sp.word)
		if end < len(s) && s[end] == ':' && strings.EqualFold(s[i:end], sp.word) {
			return end, sp.who
		}
	}
	return 0, nobody
}

// chat is a text that may imitate one.
type chat struct {
	s string
	// turns says that it does: an assistant has lines in it, and somebody whom
	// it answers, or an instruction and its response are headed so.
	turns, looked bool
}

// colon is where the colon behind a speaker at i is, when that line imitates a
// turn of a chat; else 0.
func (c *chat) colon(i int) int {
	at, who := turn(c.s, i)
	switch {
	case who == nobody:
		return 0
	case commands(who, c.s[at+1:]):
		return at
	}
	if !c.looked {
		c.looked, c.turns = true, turnsOf(c.s)
	}
	if c.turns && (who < instruction || isHeadline(c.s[:i])) {
		return at
	}
	return 0
}

// turnsOf reads all lines of a text for who speaks in it.
func turnsOf(s string) bool {
	var said [response + 1]bool
	for begin := 0; begin < len(s); {
		i := lineText(s, begin)
		if _, who := turn(s, i); who != nobody && (who < instruction || isHeadline(s[begin:i])) {
			said[who] = true
		}
		end := strings.IndexByte(s[begin:], '\n')
		if end < 0 {
			break
		}
		begin += end + 1
	}
	return said[assistant] && (said[user] || said[system]) || said[instruction] && said[response]
}

// isHeadline says whether what stands before a word makes a headline of it.
func isHeadline(before string) bool {
	return strings.HasSuffix(strings.TrimRight(before[max(0, len(before)-8):], " *_"), "#")
}

// orders are what an injected line begins with.
var orders = [...]string{
	"you are", "you must", "you should", "you will", "you now", "ignore", "disregard", "forget", "override", "new instruction", "from now on",
	"act as", "pretend", "do not follow", "do not reveal", "do not tell", "reveal", "important:", "the user has", "the assistant", "as an ai", "call the", "use the tool", "execute",
}

// commands says whether a line of system or developer gives orders to a model.
func commands(who speaker, said string) bool {
	if who != system {
		return false
	}
	said = strings.TrimLeft(said, " \t*_\"`")
	for _, o := range orders {
		if len(said) >= len(o) && strings.EqualFold(said[:len(o)], o) {
			return true
		}
	}
	return false
}
