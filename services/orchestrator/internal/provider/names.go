package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
)

// maxToolName is how long the name of a tool may be on the wire.
const maxToolName = 64

// wireName is what every provider takes for the name of a tool; another one makes
// most of them refuse the whole request (copilot-cli#1879).
var (
	wireName    = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	notWireName = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)
)

// nameMap gives tools names that a provider takes, and their own back. A name has
// the same form in every request, so that a history stays what it was. The zero
// value changes nothing.
type nameMap map[string]string // by the name on the wire

// outbound is the name on the wire: the own one where it can be.
func outbound(name string) string {
	if name == "" || wireName.MatchString(name) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := "_" + hex.EncodeToString(sum[:4])
	plain := notWireName.ReplaceAllString(name, "_")
	return plain[:min(len(plain), maxToolName-len(hash))] + hash
}

// rename is req with names that a provider takes.
func rename(req Request) (Request, nameMap) {
	names := nameMap{}
	on := func(name string) string {
		wire := outbound(name)
		if wire != name {
			names[wire] = name
		}
		return wire
	}
	if !needsNames(req) {
		return req, names
	}
	req.Tools, req.Messages = slices.Clone(req.Tools), slices.Clone(req.Messages)
	for i := range req.Tools {
		req.Tools[i].Name = on(req.Tools[i].Name)
	}
	for i := range req.Messages {
		m := &req.Messages[i]
		if m.Role == RoleTool {
			m.Name = on(m.Name)
		}
		m.Calls = slices.Clone(m.Calls)
		for j := range m.Calls {
			m.Calls[j].Name = on(m.Calls[j].Name)
		}
	}
	return req, names
}

// needsNames reports whether a name in req has to be changed.
func needsNames(req Request) bool {
	return slices.ContainsFunc(req.Tools, func(t ToolSpec) bool { return outbound(t.Name) != t.Name }) ||
		slices.ContainsFunc(req.Messages, func(m Message) bool {
			return m.Role == RoleTool && outbound(m.Name) != m.Name ||
				slices.ContainsFunc(m.Calls, func(c Call) bool { return outbound(c.Name) != c.Name })
		})
}

// inbound is the tool's own name.
func (n nameMap) inbound(wire string) string {
	if name, ok := n[wire]; ok {
		return name
	}
	return wire
}

// hear is yield with the tools' own names.
func (n nameMap) hear(yield func(Delta) error) func(Delta) error {
	if len(n) == 0 {
		return yield
	}
	return func(d Delta) error {
		d.Call.Name = n.inbound(d.Call.Name)
		return yield(d)
	}
}

// restore gives calls their tools' own names.
func (n nameMap) restore(calls []Call) {
	for i := range calls {
		calls[i].Name = n.inbound(calls[i].Name)
	}
}
