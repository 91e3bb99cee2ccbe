package modelserver

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// outcome says how a reply ended.
type outcome int

const (
	outcomeDone outcome = iota // everything was sent
	outcomeEnd                 // the stream ends without finish and [DONE]
	outcomeCut                 // the connection is to be dropped
	outcomeLeft                // the client or the server left
)

// sink takes the pieces of an answer: a stream or a whole answer.
type sink interface {
	text(piece string)
	reasoning(piece string)
	call(index int, id, name, arguments string) // id and name on the first piece only
	raw(bytes string)
	finish(reason string, u *Usage)
}

// player plays one reply into a sink.
type player struct {
	out    sink
	ctx    context.Context // the client's
	closed <-chan struct{} // the server's
	chunk  int             // characters a piece
	round  int             // makes call ids unique in a conversation
	calls  int
	words  int
}

func (p *player) run(reply Reply, pr *prompt) outcome {
	for _, s := range reply.Steps {
		if p.ctx.Err() != nil {
			return outcomeLeft
		}
		switch {
		case s.Cut:
			return outcomeCut
		case s.End:
			return outcomeEnd
		case s.Silence:
			p.wait(nil)
			return outcomeLeft
		case s.DelayMS > 0:
			t := time.NewTimer(time.Duration(s.DelayMS) * time.Millisecond)
			stay := p.wait(t.C)
			t.Stop()
			if !stay {
				return outcomeLeft
			}
		default:
			p.step(s)
		}
	}
	p.out.finish(p.reason(reply), p.usage(reply, pr))
	return outcomeDone
}

// wait waits for c and reports whether it came before the client or the server
// left.
func (p *player) wait(c <-chan time.Time) bool {
	select {
	case <-c:
		return true
	case <-p.ctx.Done():
	case <-p.closed:
	}
	return false
}

func (p *player) step(s Step) {
	switch {
	case s.Text != "":
		p.say(s.Text, p.out.text)
	case s.Reasoning != "":
		p.say(s.Reasoning, p.out.reasoning)
	case s.Call != nil:
		p.propose(*s.Call)
	case s.Comment != "":
		p.out.raw(": " + s.Comment + "\n\n")
	case s.Raw != "":
		p.out.raw(s.Raw)
	case s.RepeatRaw != nil:
		for range s.RepeatRaw.Times {
			if p.ctx.Err() != nil {
				return
			}
			p.out.raw(s.RepeatRaw.Text)
		}
	}
}

func (p *player) say(text string, send func(string)) {
	p.words += len(strings.Fields(text))
	for _, piece := range pieces(text, p.chunk) {
		send(piece)
	}
}

func (p *player) propose(c Call) {
	id := c.ID
	if id == "" {
		id = fmt.Sprintf("call%03d%02d", p.round, p.calls)
	}
	args, _ := c.Arguments.(string) // filled made it one
	p.words++
	p.out.call(p.calls, id, c.Name, "")
	for _, piece := range pieces(args, p.chunk) {
		p.out.call(p.calls, "", "", piece)
	}
	p.calls++
}

func (p *player) reason(r Reply) string {
	switch {
	case r.Finish != "":
		return r.Finish
	case p.calls > 0:
		return "tool_calls"
	}
	return "stop"
}

func (p *player) usage(r Reply, pr *prompt) *Usage {
	switch {
	case r.NoUsage:
		return nil
	case r.Usage != nil:
		return r.Usage
	}
	u := &Usage{CompletionTokens: p.words}
	for _, m := range pr.Messages {
		u.PromptTokens += len(strings.Fields(m.text())) + 1
	}
	return u
}

// pieces cuts text into pieces of n characters.
func pieces(text string, n int) []string {
	var out []string
	runes := []rune(text)
	for len(runes) > 0 {
		k := min(n, len(runes))
		out = append(out, string(runes[:k]))
		runes = runes[k:]
	}
	return out
}

// filled returns the reply with its templates filled and arguments as text.
func (r Reply) filled(p *prompt) (Reply, error) {
	if r.HTTP != nil {
		h := *r.HTTP
		body, err := p.fillValue(h.Body)
		h.Body, r.HTTP = body, &h
		return r, err
	}
	steps := make([]Step, len(r.Steps))
	for i, s := range r.Steps {
		var err error
		if steps[i], err = s.filled(p); err != nil {
			return r, fmt.Errorf("steps[%d]: %w", i, err)
		}
	}
	r.Steps = steps
	return r, nil
}

func (s Step) filled(p *prompt) (Step, error) {
	for _, field := range []*string{&s.Text, &s.Reasoning, &s.Raw} {
		var err error
		if *field, err = p.fill(*field); err != nil {
			return s, err
		}
	}
	if s.Call != nil {
		c := *s.Call
		value, err := p.fillValue(c.Arguments)
		if err != nil {
			return s, err
		}
		if c.Arguments, err = asBody(value); err != nil {
			return s, fmt.Errorf("arguments: %w", err)
		}
		s.Call = &c
	}
	return s, nil
}
