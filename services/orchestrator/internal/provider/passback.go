package provider

import "encoding/json"

// Passback is what the next request to the same provider carries of an answer,
// beside its role and text: reasoning under the name that it came by, calls with
// every member that was not understood, signed details. Reasoning and details go
// back with calls; without any they are what would go back. Nil when there is
// nothing.
func Passback(resp Response) (json.RawMessage, error) {
	m := Message{
		Role: RoleAssistant, Content: resp.Text, Reasoning: resp.Reasoning,
		ReasoningField: resp.ReasoningField, Calls: resp.Calls, Extra: resp.Extra,
	}
	if len(m.Calls) == 0 {
		m.Calls = []Call{{Arguments: "{}"}}
	}
	wire := map[string]json.RawMessage{}
	if err := (wiring{}).message(wire, m); err != nil {
		return nil, err
	}
	delete(wire, "content")
	if len(resp.Calls) == 0 {
		delete(wire, "tool_calls")
	}
	return encodeVerbatim(wire), nil
}
