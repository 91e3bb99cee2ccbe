// Package gate decides whether a tool call that the model proposed may be made.
// The model proposes, code decides: the gate is a pure function of what is
// registered, configured and known, so it can be tested alone and gives the
// same answer when a run is taken over.
package gate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider/arguments"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/registry"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// Verdict is what may happen with a call.
type Verdict string

const (
	// Allow lets the call be made.
	Allow Verdict = "allow"
	// Ask leaves the decision to a person.
	Ask Verdict = "ask"
	// Deny refuses the call whatever a person says.
	Deny Verdict = "deny"
	// Reject answers a call that cannot be made as it is: there is no such
	// tool, or its arguments do not fit. The model may mend it.
	Reject Verdict = "reject"
)

// The reasons of decisions.
const (
	ReasonUnknownTool  = "UNKNOWN_TOOL"
	ReasonDisabled     = "TOOL_DISABLED"
	ReasonBadArguments = "BAD_ARGUMENTS"
	ReasonTooManyCalls = "TOO_MANY_CALLS"
	ReasonNeedsPerson  = "NEEDS_APPROVAL"
)

// Call is a proposed call.
type Call struct {
	Name      string
	Arguments string // JSON text as the model wrote it
	Ordinal   int    // place in its round, from 0
	// Exact refuses what the model path would mend: a person or program that
	// sends arguments gets an error instead of a guess.
	Exact bool
}

// Decision is what the gate says.
type Decision struct {
	Verdict Verdict
	Reason  string
	Message string // for the model, or for whoever called
	// Pointer is where in the arguments they do not fit (RFC 6901); empty for
	// the whole of them and for every other reason.
	Pointer string
	// Unreadable says of arguments that do not fit that they could not even be read
	// as one JSON object, or for a tool that changes, sends or runs anything only by
	// guessing: what the model meant is not known.
	Unreadable bool
	// Tool is nil for a tool that does not exist.
	Tool *registry.Tool
	// Canonical arguments and their hash, when they fit the tool's schema.
	Canonical []byte
	Hash      string
	// Changes says what was mended in the arguments.
	Changes []string
}

// Decide decides on a call. maxCalls bounds the calls of one round.
func Decide(tools *registry.Snapshot, c Call, maxCalls int) Decision {
	t := tools.Get(c.Name)
	switch {
	case t == nil:
		return Decision{Verdict: Reject, Reason: ReasonUnknownTool, Message: unknown(tools, c.Name)}
	case !t.Enabled:
		return Decision{Verdict: Deny, Reason: ReasonDisabled, Tool: t,
			Message: fmt.Sprintf("The tool %s is turned off. Its operator can list it under tools.enabled.", t.Name)}
	case c.Ordinal >= maxCalls:
		return Decision{Verdict: Deny, Reason: ReasonTooManyCalls, Tool: t,
			Message: fmt.Sprintf("At most %d calls may be made in one answer. Make this call again later if it is still needed.", maxCalls)}
	}
	d := Decision{Tool: t}
	var err error
	if c.Exact {
		d.Canonical, err = t.Validator.CheckExact([]byte(c.Arguments))
	} else {
		d.Canonical, d.Changes, err = arguments.Check(t.Validator, c.Arguments, t.Sink == "read")
	}
	if err != nil {
		d.Verdict, d.Reason = Reject, ReasonBadArguments
		d.Message = fmt.Sprintf("The arguments of %s do not fit: %v", t.Name, err)
		if bad, ok := errors.AsType[*toolkit.ArgumentError](err); ok {
			d.Pointer = bad.Pointer
		}
		d.Unreadable = !c.Exact && !readable(c.Arguments, t.Sink == "read")
		return d
	}
	d.Hash = toolkit.Hash(d.Canonical)
	d.Verdict = Allow
	if t.Asks {
		d.Verdict, d.Reason = Ask, ReasonNeedsPerson
		d.Message = fmt.Sprintf("The tool %s (%s) needs a person's approval for each call.", t.Name, t.Sink)
	}
	return d
}

// readable reports whether a text is one object, without a guess where none may be
// made.
func readable(text string, guess bool) bool {
	o, err := arguments.Read(text)
	return err == nil && (guess || o.Light())
}

func unknown(tools *registry.Snapshot, name string) string {
	if near := tools.Near(name); len(near) > 0 {
		return fmt.Sprintf("There is no tool %q. Did you mean %s?", clip(name), strings.Join(near, " or "))
	}
	names := tools.EnabledNames()
	if len(names) == 0 {
		return fmt.Sprintf("There is no tool %q, and no other tool either. Answer without tools.", clip(name))
	}
	return fmt.Sprintf("There is no tool %q. The tools are: %s.", clip(name), strings.Join(names, ", "))
}

// maxShown is how many bytes of a name that nobody knows are repeated.
const maxShown = 80

func clip(s string) string {
	if len(s) > maxShown {
		return strings.ToValidUTF8(s[:maxShown], "") + "…"
	}
	return s
}
