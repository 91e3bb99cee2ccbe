package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
)

// maxCallID is the longest id of a call that most endpoints take back, in bytes.
const maxCallID = 64

var shortID = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

// id is a call's id in the form that the rule demands: the same for the same id,
// so that calls and results stay together.
func (r IDRule) id(id string) string {
	switch {
	case id == "" || r == IDsVerbatim:
		return id
	case r == IDsOfNine:
		if shortID.MatchString(id) {
			return id
		}
		sum := sha256.Sum256([]byte(id))
		return hex.EncodeToString(sum[:5])[:9]
	case len(id) <= maxCallID:
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:16])
}

// renumber is req with ids of calls as the rule demands.
func (r IDRule) renumber(req Request) Request {
	if r == IDsVerbatim {
		return req
	}
	req.Messages = slices.Clone(req.Messages)
	for i := range req.Messages {
		m := &req.Messages[i]
		m.CallID = r.id(m.CallID)
		m.Calls = slices.Clone(m.Calls)
		for j := range m.Calls {
			m.Calls[j].ID = r.id(m.Calls[j].ID)
		}
	}
	return req
}
