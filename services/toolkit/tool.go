package toolkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/protobuf/types/known/durationpb"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
)

// Effect says what running a call twice means.
type Effect string

// The effects.
const (
	EffectPure      Effect = "pure"      // nothing: running it again does no harm
	EffectKeyed     Effect = "keyed"     // the effect key dedupes
	EffectQueryable Effect = "queryable" // ask GetCall before running it again
	EffectOpaque    Effect = "opaque"    // nobody can tell
)

// outlives reports whether a call goes on when its stream ends.
func (e Effect) outlives() bool { return e == EffectKeyed || e == EffectQueryable }

// Sink says where a tool's data goes.
type Sink string

// The sinks.
const (
	SinkRead   Sink = "read"   // data comes in
	SinkEgress Sink = "egress" // data leaves
	SinkWrite  Sink = "write"  // something is changed
	SinkExec   Sink = "exec"   // code runs
)

// ResultKind picks the length at which a result is cut for the model.
type ResultKind string

// The kinds of result.
const (
	KindData     ResultKind = ""         // 24,000 characters
	KindLog      ResultKind = "log"      // 2,000
	KindDocument ResultKind = "document" // 5,000
	KindWeb      ResultKind = "web"      // 10,000
)

// Tool describes a tool to [Add].
type Tool struct {
	// Name by which the model calls it: ^[a-zA-Z0-9_-]{1,64}$.
	Name string
	// Title for people; optional.
	Title string
	// Description says to the model what the tool does and when to use it, in at
	// most 4,096 characters.
	Description string
	// Effect and Sink must be given; they decide what is asked, repeated, refused.
	Effect Effect
	Sink   Sink
	// Polling marks a tool that is meant to be called again with equal arguments.
	Polling bool
	// OutputUntrusted marks results with text from outside.
	OutputUntrusted bool
	// ResultKind picks the cut-off of results.
	ResultKind ResultKind
	// Timeout of a call whose caller sets no deadline; 0 is Config.DefaultTimeout.
	Timeout time.Duration
	// Version changes when schema or meaning change; empty is "1".
	Version string
	// Schema edits the schema inferred from the input struct: defaults, bounds,
	// enums. A property that gets a default stops being required.
	Schema func(*jsonschema.Schema)
	// OutputSchema describes the result's JSON text; optional.
	OutputSchema *jsonschema.Schema
}

// tool is a Tool that was accepted.
type tool struct {
	info      *toolv1.Tool
	effect    Effect
	timeout   time.Duration
	validator *Validator
	run       func(ctx context.Context, call *Call) (Result, error)
}

// errBadArguments marks arguments that keep the schema and still do not fit the
// input struct, like an integer beyond int64.
type errBadArguments struct{ *ArgumentError }

// Add adds a tool to a provider. The input struct gives the schema: json tags
// name the properties, omitempty and omitzero make them optional, a jsonschema
// tag is the description. run gets arguments that keep the schema, with
// defaults filled.
//
// run must return when ctx ends. A Go error from it that carries a gRPC status
// reaches the caller as it is and says, for a keyed or queryable tool, that
// nothing was done; any other error and a panic become INTERNAL with the text
// kept in the log. Everything that the model should read is a [Result].
//
// Add refuses a bad or taken name, an unknown effect or sink, a keyed or
// queryable tool on a provider without KeyStore, and a schema that cannot be
// used; a provider should not start then.
func Add[In any](p *Provider, t Tool, run func(ctx context.Context, call *Call, in In) (Result, error)) error {
	added, err := newTool(p.cfg, t, reflect.TypeFor[In]())
	if err != nil {
		return fmt.Errorf("toolkit: adding tool %q: %w", t.Name, err)
	}
	added.run = func(ctx context.Context, call *Call) (Result, error) {
		var in In
		if err := json.Unmarshal([]byte(call.ArgumentsJSON), &in); err != nil {
			return Result{}, errBadArguments{misfit(err)}
		}
		return run(ctx, call, in)
	}
	return p.add(added)
}

func misfit(err error) *ArgumentError {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return &ArgumentError{"/" + wrong.Field, "a value of type " + wrong.Type.String(), clip(wrong.Value)}
	}
	return &ArgumentError{"", "arguments of the tool's types", clipTo(err.Error(), 4*maxShownBytes)}
}

var namePattern = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

const maxDescriptionRunes = 4096

func newTool(cfg Config, t Tool, in reflect.Type) (*tool, error) {
	if err := t.check(cfg); err != nil {
		return nil, err
	}
	schema, err := inferSchema(in, t.Schema)
	if err != nil {
		return nil, err
	}
	parameters, text, err := schemaStruct(schema)
	if err != nil {
		return nil, err
	}
	if _, err := schema.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true}); err != nil {
		return nil, fmt.Errorf("schema of the arguments: %w", err)
	}
	validator, err := NewValidator(text)
	if err != nil {
		return nil, err
	}
	timeout := t.Timeout
	if timeout == 0 {
		timeout = cfg.DefaultTimeout
	}
	version := t.Version
	if version == "" {
		version = "1"
	}
	info := &toolv1.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description,
		Parameters: parameters,
		Effect:     string(t.Effect), Sink: string(t.Sink),
		Polling: t.Polling, OutputUntrusted: t.OutputUntrusted,
		ResultKind:     string(t.ResultKind),
		DefaultTimeout: durationpb.New(timeout),
		Version:        version,
	}
	if t.OutputSchema != nil {
		if _, err := t.OutputSchema.CloneSchemas().Resolve(nil); err != nil {
			return nil, fmt.Errorf("output schema: %w", err)
		}
		if info.OutputSchema, _, err = schemaStruct(t.OutputSchema); err != nil {
			return nil, fmt.Errorf("output schema: %w", err)
		}
	}
	return &tool{info: info, effect: t.Effect, timeout: timeout, validator: validator}, nil
}

func (t Tool) check(cfg Config) error {
	switch {
	case !namePattern.MatchString(t.Name):
		return fmt.Errorf("a name must match %s", namePattern)
	case t.Description == "" || utf8.RuneCountInString(t.Description) > maxDescriptionRunes:
		return fmt.Errorf("a description of 1 to %d characters is needed", maxDescriptionRunes)
	case !slices.Contains([]Effect{EffectPure, EffectKeyed, EffectQueryable, EffectOpaque}, t.Effect):
		return fmt.Errorf("effect %q is none of pure, keyed, queryable, opaque", t.Effect)
	case !slices.Contains([]Sink{SinkRead, SinkEgress, SinkWrite, SinkExec}, t.Sink):
		return fmt.Errorf("sink %q is none of read, egress, write, exec", t.Sink)
	case !slices.Contains([]ResultKind{KindData, KindLog, KindDocument, KindWeb}, t.ResultKind):
		return fmt.Errorf("result kind %q is none of log, document, web and empty", t.ResultKind)
	case t.Timeout < 0 || t.Timeout > cfg.MaxTimeout:
		return fmt.Errorf("timeout %s is not between 0 and %s", t.Timeout, cfg.MaxTimeout)
	case t.Effect.outlives() && cfg.KeyStore == nil:
		return fmt.Errorf("effect %s needs a KeyStore in the provider's Config", t.Effect)
	}
	return nil
}
