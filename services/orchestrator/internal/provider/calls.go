package provider

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// calls takes the call pieces of one delta.
func (a *assembler) calls(list []wireCall, yield func(Delta) error) error {
	if len(list) == 0 {
		return nil
	}
	touched := make(map[*slot]bool, len(list))
	for pos := range list {
		w := &list[pos]
		if err := a.grow(w.size()); err != nil {
			return err
		}
		s := a.find(w, pos, len(list), touched)
		if s == nil {
			if w.empty() {
				continue
			}
			if len(a.slots) >= a.maxCalls {
				return a.tooManyCalls()
			}
			s = a.open(w)
		}
		touched[s] = true
		a.merge(s, w)
		if err := a.announce(s, yield); err != nil {
			return err
		}
	}
	return nil
}

// find returns the slot that a piece goes on with, nil when it starts a call.
// Providers disagree about index and id, so both are hints: an explicit index
// counts first, then the id, then the place in the list, then the call that is
// open.
func (a *assembler) find(w *wireCall, pos, of int, touched map[*slot]bool) *slot {
	if w.Index.set {
		return a.atIndex(w)
	}
	if w.ID != "" {
		if s := a.byID[w.ID]; s != nil {
			if touched[s] {
				return nil
			}
			return a.sameCall(s, w)
		}
	}
	s := a.last()
	if s == nil {
		return nil
	}
	switch {
	case w.ID != "":
		// An id that comes after the call was opened without one.
		if s.id == "" && !touched[s] && !s.complete() && (w.Function.Name == "" || s.name == "") {
			return s
		}
		return nil
	case w.Function.Name == "" && of > 1 && pos < len(a.slots):
		return a.sameCall(a.slots[pos], w)
	case touched[s] && (w.Function.Name != "" || s.complete()):
		return nil
	}
	return a.sameCall(s, w)
}

// atIndex returns the slot that a piece with an index goes on with.
func (a *assembler) atIndex(w *wireCall) *slot {
	s := a.byIndex[w.Index.value]
	nameless := w.Function.Name == ""
	switch {
	case s == nil:
		// An index that counts pieces: what has neither name nor id, while a call
		// is in the middle of its arguments, is the next piece of that.
		if last := a.last(); nameless && w.ID == "" && last != nil && last.unfinished() {
			a.byIndex[w.Index.value] = last
			return last
		}
		return nil
	case w.ID == "" || s.id == "" || w.ID == s.id:
		return a.sameCall(s, w)
	case a.byID[w.ID] != nil: // one index for all parallel calls, in turns
		return a.sameCall(a.byID[w.ID], w)
	case nameless && s.name != "" && !s.complete():
		return s // an id of its own for each piece
	}
	return nil // one index for all parallel calls (ollama#15457)
}

// sameCall decides whether a piece that points to s really goes on with it.
// Once the arguments are whole, another object is the same call sent again
// (vllm#42167) or a further call.
func (a *assembler) sameCall(s *slot, w *wireCall) *slot {
	name, args := w.Function.Name, w.Function.Arguments
	whole := strings.HasPrefix(strings.TrimSpace(args), "{")
	switch {
	case whole && s.placeholder() && (name == "" || name == s.name && (w.Index.set || w.ID != "")):
		s.restart() // its arguments come only now
		return s
	case s.complete() && whole:
		if (name == "" || name == s.name) && (w.Index.set || w.ID != "" || name == "") && sameValue(s.args.String(), args) {
			a.warn("arguments sent twice for one tool call: read once")
			w.Function.Arguments = ""
			return s
		}
		return a.further(s, w)
	case name == "" || s.name == "" || name == s.name || a.joins(s, name):
		return s
	case s.complete(), !w.Index.set && s.args.Len() == 0:
		return nil // another name after whole arguments, or in a stream without index
	}
	return s
}

// further makes w the start of a call of its own; a call without a name of its
// own repeats the tool of the one before.
func (a *assembler) further(s *slot, w *wireCall) *slot {
	if w.Function.Name == "" {
		w.Function.Name = s.name
	}
	if w.ID == s.id {
		w.ID = ""
	}
	return nil
}

func (a *assembler) last() *slot {
	if len(a.slots) == 0 {
		return nil
	}
	return a.slots[len(a.slots)-1]
}

// open starts a call.
func (a *assembler) open(w *wireCall) *slot {
	s := &slot{ordinal: len(a.slots), index: w.Index.value, hasIndex: w.Index.set}
	a.slots = append(a.slots, s)
	if w.Index.set {
		a.byIndex[w.Index.value] = s
	}
	return s
}

// written takes a call that stood in the text.
func (a *assembler) written(c textCall, yield func(Delta) error) error {
	if len(a.slots) >= a.maxCalls {
		return a.tooManyCalls()
	}
	s := a.open(&wireCall{})
	s.name, s.inText = c.name, true
	s.append(c.arguments)
	return a.announce(s, yield)
}

func (a *assembler) tooManyCalls() error {
	return &limitError{fmt.Sprintf("the answer has more than %d tool calls", a.maxCalls)}
}

// saidTwice reports whether a call of the text came as a call as well.
func (a *assembler) saidTwice(s *slot) bool {
	return s.inText && slices.ContainsFunc(a.slots, func(o *slot) bool {
		return !o.inText && o.name == s.name && sameValue(o.args.String(), s.args.String())
	})
}

// merge adds a piece to its call. Id and name are set once: several servers
// repeat them in each piece. A name in pieces is joined only when that makes a
// name that was offered.
func (a *assembler) merge(s *slot, w *wireCall) {
	if s.id == "" && w.ID != "" {
		s.id = w.ID
		a.byID[w.ID] = s
	}
	name := w.Function.Name
	switch {
	case name == "" || name == s.name:
	case s.name == "":
		s.name = name
	case a.joins(s, name):
		s.name += name
	case !s.announced && a.tools[name]:
		s.name = name
	}
	s.append(w.Function.Arguments)
	s.keepExtra(w)
}

// joins reports whether name is the next piece of the name of s.
func (a *assembler) joins(s *slot, name string) bool {
	joined := s.name + name
	return s.args.Len() == 0 && !a.tools[name] && (a.tools[joined] || a.partOfTool(joined))
}

// partOfTool reports whether name begins an offered name without being one.
func (a *assembler) partOfTool(name string) bool {
	if a.tools[name] {
		return false
	}
	for tool := range a.tools {
		if strings.HasPrefix(tool, name) {
			return true
		}
	}
	return false
}

// announce emits what is new of a call, once its name is known for good.
func (a *assembler) announce(s *slot, yield func(Delta) error) error {
	if s.name == "" || !s.announced && a.partOfTool(s.name) && s.args.Len() == 0 {
		return nil
	}
	piece := s.args.String()[s.emitted:]
	if s.placeholder() {
		piece = ""
	}
	f := CallFragment{Ordinal: s.ordinal, Arguments: piece}
	if !s.announced {
		f.ID, f.Name = s.id, s.name
	} else if piece == "" {
		return nil
	}
	s.announced, s.emitted = true, s.emitted+len(piece)
	return yield(Delta{Kind: CallPiece, Call: f})
}

// finishedCalls returns the calls in the provider's order, each with an id
// that is unique in the answer.
func (a *assembler) finishedCalls() []Call {
	slots := slices.Clone(a.slots)
	if !slices.ContainsFunc(slots, func(s *slot) bool { return !s.hasIndex }) {
		slices.SortStableFunc(slots, func(x, y *slot) int { return cmp.Compare(x.index, y.index) })
	}
	var out []Call
	taken := make(map[string]bool, len(slots))
	for _, s := range slots {
		if s.name == "" {
			a.warn("a tool call without a name was dropped")
			continue
		}
		if a.saidTwice(s) {
			a.warn("a tool call in the text came as a call as well: read once")
			continue
		}
		c := s.call()
		if bare, prefixed := strings.CutPrefix(c.Name, "functions."); prefixed && !a.tools[c.Name] && a.tools[bare] {
			c.Name = bare // the name of the namespace that the model was shown its tools in
		}
		if c.ID != "" && taken[c.ID] {
			a.warn("two tool calls shared one id: the second got another")
			c.ID = ""
		}
		for c.ID == "" || taken[c.ID] {
			c.ID = a.newID()
		}
		taken[c.ID] = true
		out = append(out, c)
	}
	return out
}

// empty reports whether a piece says nothing: padding of sparse indexes.
func (w *wireCall) empty() bool {
	return w.ID == "" && w.Function.Name == "" && w.Function.Arguments == ""
}

// size is the number of bytes that a piece adds to the answer.
func (w *wireCall) size() int {
	n := len(w.ID) + len(w.Function.Name) + len(w.Function.Arguments) + 1
	for k, v := range w.Extra {
		n += len(k) + len(v) + entryCost
	}
	for k, v := range w.Function.Extra {
		n += len(k) + len(v) + entryCost
	}
	return n
}
