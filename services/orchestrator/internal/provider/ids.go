package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
)

// maxCallID is the longest id of a call that most endpoints take back, in bytes.
const maxCallID = 64

var shortID = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

// takes reports whether the endpoint takes an id as it is.
func (r IDRule) takes(id string) bool {
	switch r {
	case IDsVerbatim:
		return true
	case IDsOfNine:
		return shortID.MatchString(id)
	}
	return len(id) <= maxCallID
}

// another is an id that stands for an id: the same for the same one, so that a
// history stays what it was from request to request.
func (r IDRule) another(id string) string {
	sum := sha256.Sum256([]byte(id))
	if r == IDsOfNine {
		return hex.EncodeToString(sum[:5])[:9]
	}
	return "call_" + hex.EncodeToString(sum[:16])
}

// renumber is req with ids of calls as the rule demands. Models repeat their ids
// from answer to answer, and some endpoints take each only once (vllm#50295): the
// later ones get others, but where ids go back verbatim. A result has the id of
// the last call before it that came with the same.
func (r IDRule) renumber(req Request) Request {
	if r == IDsVerbatim {
		return req
	}
	req.Messages = slices.Clone(req.Messages)
	times := map[string]int{}
	wire := map[string]string{}
	for i := range req.Messages {
		m := &req.Messages[i]
		m.Calls = slices.Clone(m.Calls)
		for j := range m.Calls {
			own := m.Calls[j].ID
			if own == "" {
				continue
			}
			times[own]++
			switch n := times[own]; {
			case n > 1:
				wire[own] = r.another(fmt.Sprintf("%s %d", own, n))
			case r.takes(own):
				wire[own] = own
			default:
				wire[own] = r.another(own)
			}
			m.Calls[j].ID = wire[own]
		}
		if id, ok := wire[m.CallID]; ok {
			m.CallID = id
		} else if m.CallID != "" && !r.takes(m.CallID) {
			m.CallID = r.another(m.CallID)
		}
	}
	return req
}
