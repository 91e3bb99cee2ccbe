package provider

import (
	"bytes"
	"sync"
)

// concessions are optional request members that an endpoint was found to
// refuse by name. They are learnt from its 400 answers and kept as long as the
// client lives.
type concessions struct {
	noUsage          bool // stream_options.include_usage
	completionTokens bool // wants max_completion_tokens in place of max_tokens
	noTemperature    bool
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

// learn reads the body of a 400 answer to a request that was made with used,
// and reports what to use for another try; false when there is nothing to
// concede.
func (m *endpointMemory) learn(used concessions, refusal []byte) (concessions, bool) {
	body := bytes.ToLower(refusal)
	names := func(words ...string) bool {
		for _, w := range words {
			if !bytes.Contains(body, []byte(w)) {
				return false
			}
		}
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	next := used
	switch {
	case !used.noUsage && (names("stream_options") || names("include_usage")):
		next.noUsage, m.known.noUsage = true, true
	case !used.completionTokens && names("max_tokens", "max_completion_tokens"):
		next.completionTokens, m.known.completionTokens = true, true
	case !used.noTemperature && names("temperature", "support"):
		next.noTemperature, m.known.noTemperature = true, true
	default:
		return used, false
	}
	return next, true
}
