// Package selection decides which engines are asked, and in which order.
package selection

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// ReasonUnavailable is the reason when an engine is known by name but this
// build cannot ask it.
const ReasonUnavailable = "ADAPTER_UNAVAILABLE"

// unavailable are names that configurations of the seed design use, with the
// words that follow "because".
var unavailable = map[string]string{
	"api":   "this version has no adapter for the Anthropic web search tool",
	"brave": "this version has no adapter for Brave Search",
}

// Rules are the operator's.
type Rules struct {
	// Configured is the engine that the operator chose; empty means Default.
	Configured string
	// Default are the engines when neither caller nor operator chose one, in
	// order: each is asked when the ones before could not answer.
	Default []string
	// Known are the engines that can be asked.
	Known []string
}

// Validate checks the operator's choice. An engine that is merely unavailable
// passes: it is each search that says so.
func (r Rules) Validate() error {
	for _, name := range append([]string{r.Configured}, r.Default...) {
		if name = normal(name); name != "" && !r.known(name) && unavailable[name] == "" {
			return fmt.Errorf("search: adapter %q is unknown: use one of %s", name, r.names())
		}
	}
	return nil
}

// Order gives the engines to ask. One that the caller or the operator chose by
// name stands alone: another one's results would be a silent replacement.
func (r Rules) Order(requested string) ([]string, error) {
	chosen, field := normal(requested), "provider"
	if chosen == "" {
		chosen, field = normal(r.Configured), ""
	}
	if chosen == "" {
		return r.Default, nil
	}
	if r.known(chosen) {
		return []string{chosen}, nil
	}
	if why, ok := unavailable[chosen]; ok {
		return nil, rpcerr.New(codes.FailedPrecondition, ReasonUnavailable,
			"search provider %q cannot be asked: %s; use one of %s", chosen, why, r.names()).
			WithMeta("provider", chosen)
	}
	if field == "" {
		field = "adapter"
	}
	return nil, rpcerr.InvalidArgument(field, fmt.Sprintf("%q is no search provider; use one of %s", chosen, r.names()))
}

func (r Rules) known(name string) bool { return slices.Contains(r.Known, name) }

func (r Rules) names() string { return strings.Join(r.Known, ", ") }

func normal(name string) string { return strings.ToLower(strings.TrimSpace(name)) }
