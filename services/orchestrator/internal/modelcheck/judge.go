package modelcheck

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider/arguments"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// Answer is what came back for a case.
type Answer struct {
	Response provider.Response
	// Err is why the call failed; nil when it did not.
	Err error
	// First is the time to the first piece of the answer, 0 when none came; Took
	// is the time to its end.
	First, Took time.Duration
	// Fragments is the most pieces in which the arguments of one call came.
	Fragments int
}

// Parse says how the arguments of a call could be read.
type Parse string

// The ways.
const (
	ParseExact    Parse = "exact"
	ParseRepaired Parse = "repaired"
	ParseFailed   Parse = "failed"
)

// JudgedCall is one call that a model made.
type JudgedCall struct {
	Parse Parse
	// Mended are the repairs of the text and of values, without their places.
	Mended []string
	// Known says that a tool of that name was offered; Valid that its schema takes
	// the arguments.
	Known, Valid bool
	// Right says that exactly this call was asked for.
	Right bool
}

// Result is a case with what is known of its answer.
type Result struct {
	Case   Case
	Answer Answer
	Calls  []JudgedCall
	// Passed says that the answer is what was asked for: the calls that are wanted,
	// with values as asked, and no others.
	Passed bool
	// Cut says that the limit of tokens ended the answer.
	Cut bool
}

// Failure is the error of a call that failed; nil for others.
func (r Result) Failure() *provider.Error {
	var e *provider.Error
	switch {
	case r.Answer.Err == nil:
		return nil
	case errors.As(r.Answer.Err, &e):
		return e
	}
	return &provider.Error{Kind: provider.KindMalformed, Message: r.Answer.Err.Error(), Err: r.Answer.Err}
}

// Why says in words why a round did not pass; empty for one that did.
func (r Result) Why() string {
	e := r.Failure()
	calls := func(is func(JudgedCall) bool) bool { return slices.ContainsFunc(r.Calls, is) }
	switch {
	case r.Passed:
		return ""
	case e != nil:
		return e.Fault()
	case r.Cut:
		return "the limit of tokens ended the answer"
	case len(r.Calls) == 0:
		return "no tool was called"
	case len(r.Case.Want) == 0:
		return "a tool was called, and none was needed"
	case calls(func(c JudgedCall) bool { return !c.Known }):
		return "a tool was called that was not offered"
	case calls(func(c JudgedCall) bool { return c.Parse == ParseFailed }):
		return "the arguments cannot be read"
	case calls(func(c JudgedCall) bool { return !c.Valid }):
		return "the arguments do not fit the schema"
	case calls(func(c JudgedCall) bool { return !c.Right }):
		return "another call than the one asked for, or with other values"
	}
	return fmt.Sprintf("%d of %d calls that were asked for", len(r.Calls), len(r.Case.Want))
}

// Judge compares an answer with what its case asks for.
func Judge(c Case, a Answer) Result {
	r := Result{Case: c, Answer: a, Cut: a.Response.Finish == provider.FinishLength}
	if a.Err != nil {
		return r
	}
	open := slices.Clone(c.Want)
	right := 0
	for _, call := range a.Response.Calls {
		judged, canonical := judgeCall(c, call)
		if i := slices.Index(open, Wanted{call.Name, canonical}); i >= 0 {
			judged.Right = true
			open = slices.Delete(open, i, i+1)
			right++
		}
		r.Calls = append(r.Calls, judged)
	}
	r.Passed = len(open) == 0 && right == len(r.Calls) && !r.Cut
	return r
}

// judgeCall reads the arguments of a call as the gate does for a tool that only
// reads; canonical is empty where that cannot be done.
func judgeCall(c Case, call provider.Call) (j JudgedCall, canonical string) {
	o, err := arguments.Read(call.Arguments)
	switch {
	case err != nil:
		j.Parse = ParseFailed
	case len(o.Repairs) > 0:
		j.Parse = ParseRepaired
	default:
		j.Parse = ParseExact
	}
	v := c.validator(call.Name)
	if v == nil {
		return j, ""
	}
	j.Known = true
	checked, changes, err := arguments.Check(v, call.Arguments, true)
	for _, change := range changes {
		j.Mended = append(j.Mended, changeKind(change))
	}
	if err != nil {
		return j, ""
	}
	j.Valid = true
	return j, string(checked)
}

// changeKind is what kind of change a change is: without its place and its value, so
// that the same kinds can be counted.
func changeKind(change string) string {
	place, what, found := strings.Cut(change, ": ")
	if !found {
		return change
	}
	if place != "the arguments" { // a value, not the text
		if _, kind, read := strings.Cut(what, " read as "); read {
			return "a value read as " + kind
		}
		if strings.Contains(what, " is out of range") {
			return "a number out of range brought into it"
		}
	}
	return what
}

// validator is that of a tool which the case offers; nil for any other.
func (c Case) validator(tool string) *toolkit.Validator {
	for _, spec := range c.Request.Tools {
		if spec.Name == tool {
			v, err := toolkit.NewValidator(spec.Parameters)
			if err != nil {
				return nil // maker.expect has tried it
			}
			return v
		}
	}
	return nil
}
