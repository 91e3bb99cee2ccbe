package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// The two names of the member that limits an answer.
const (
	lengthMember    = "max_tokens"
	newLengthMember = "max_completion_tokens"
)

// optionalMember is a request member that can be left out where an endpoint
// refuses it by name.
type optionalMember struct {
	// path is the member, and for one that stands inside another both.
	path []string
	// also is another name that a refusal calls it by.
	also string
	// word says that the name is an English word as well: a refusal must say so in
	// so many words.
	word bool
}

// optionalMembers, the inner ones before those that hold them.
var optionalMembers = []optionalMember{
	{path: []string{"stream_options"}, also: "include_usage"},
	{path: []string{"temperature"}, word: true},
	{path: []string{"parallel_tool_calls"}},
	{path: []string{"tool_stream"}},
	{path: []string{"tool_choice"}},
	{path: []string{"thinking", "clear_thinking"}},
	{path: []string{"thinking"}, word: true},
	{path: []string{"enable_thinking"}},
	{path: []string{"chat_template_kwargs"}},
	{path: []string{"reasoning_effort"}},
	{path: []string{"reasoning_split"}},
	{path: []string{"reasoning"}, word: true},
}

func (o optionalMember) name() string { return o.path[len(o.path)-1] }

// in reports whether a request has the member.
func (o optionalMember) in(top map[string]json.RawMessage) bool {
	for _, step := range o.path[:len(o.path)-1] {
		var inner map[string]json.RawMessage
		if json.Unmarshal(top[step], &inner) != nil {
			return false
		}
		top = inner
	}
	_, ok := top[o.name()]
	return ok
}

// remove takes the member out of a request.
func (o optionalMember) remove(top map[string]json.RawMessage) {
	if len(o.path) == 1 {
		delete(top, o.path[0])
		return
	}
	var inner map[string]json.RawMessage
	if json.Unmarshal(top[o.path[0]], &inner) == nil && inner != nil {
		delete(inner, o.path[1])
		_ = set(top, o.path[0], inner) // it was JSON before
	}
}

// refusedBy reports whether a refusal, in lower case, is about the member.
func (o optionalMember) refusedBy(refusal []byte) bool {
	if o.also != "" && hasName(refusal, o.also) {
		return true
	}
	return hasName(refusal, o.name()) && (!o.word || refuses(refusal))
}

// refusals are the words of endpoints that do not take something. "Is missing" and
// "must be passed back" are about other members than the one that is named first.
var refusals = []string{"support", "unrecognized", "unknown", "unexpected", "not permitted", "forbidden", "invalid", "not allowed", "additional", "only type", "不支持", "参数"}

func refuses(refusal []byte) bool {
	return slices.ContainsFunc(refusals, func(w string) bool { return bytes.Contains(refusal, []byte(w)) }) &&
		!bytes.Contains(refusal, []byte("reasoning_content"))
}

// hasName reports whether a text has a name, and not only as a part of another.
func hasName(text []byte, name string) bool {
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte(name))
		if i < 0 {
			return false
		}
		begin, end := at+i, at+i+len(name)
		if (begin == 0 || !isNameByte(text[begin-1])) && (end == len(text) || !isNameByte(text[end])) {
			return true
		}
		at = end
	}
}

func isNameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z'
}

// concessions are what an endpoint was found to refuse by name. They are learnt
// from its 400 answers, and kept as long as the client lives once a request
// without it was taken.
type concessions struct {
	without     []string // names of optional members, in the order of their refusals
	otherLength bool     // the other name of the member that limits the answer
	sign        bool     // calls without a signature get the profile's word for one
}

// apply takes what was conceded out of a request.
func (c concessions) apply(top map[string]json.RawMessage) {
	for _, o := range optionalMembers {
		if slices.Contains(c.without, o.name()) {
			o.remove(top)
		}
	}
	if !c.otherLength {
		return
	}
	from, to := lengthMember, newLengthMember
	if _, ok := top[from]; !ok {
		from, to = to, from
	}
	if limit, ok := top[from]; ok {
		delete(top, from)
		top[to] = limit
	}
}

// learn reads the body of a refusal of sent, and returns what to concede for
// another try; false when there is nothing. Each thing is conceded once.
func (c concessions) learn(p Profile, sent, refusal []byte) (concessions, bool) {
	var top map[string]json.RawMessage
	if json.Unmarshal(sent, &top) != nil {
		return c, false
	}
	said := bytes.ToLower(refusal)
	if !c.sign && p.Signature != "" && hasName(said, p.Signature) {
		c.sign = true
		return c, true
	}
	for _, o := range optionalMembers {
		if o.in(top) && o.refusedBy(said) {
			c.without = append(slices.Clone(c.without), o.name())
			return c, true
		}
	}
	_, old := top[lengthMember]
	_, young := top[newLengthMember]
	if !c.otherLength && hasName(said, newLengthMember) && (old && hasName(said, lengthMember) || young && refuses(said)) {
		c.otherLength = true
		return c, true
	}
	return c, false
}

// warning says what was left out; empty for nothing that changes an answer.
func (c concessions) warning() string {
	names := slices.DeleteFunc(slices.Clone(c.without), func(name string) bool { return name == "stream_options" })
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("the endpoint refuses %s: left out of the request", strings.Join(names, ", "))
}

// endpointMemory remembers the concessions of one endpoint.
type endpointMemory struct {
	mu    sync.Mutex
	known concessions
}

func (m *endpointMemory) get() concessions {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known
}

// keep takes the concessions of a request that was answered. What another request
// found meanwhile stays.
func (m *endpointMemory) keep(c concessions) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := slices.Clone(m.known.without)
	for _, name := range c.without {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	m.known = concessions{all, m.known.otherLength || c.otherLength, m.known.sign || c.sign}
}
