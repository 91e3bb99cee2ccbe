package transcript

import orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"

// Message is the transcript as the message that the server keeps of the run.
func (t *Transcript) Message() *orchestratorv1.Message {
	m := &orchestratorv1.Message{
		ConversationId: t.ConversationID, Role: "assistant", Content: t.Answer(), Model: t.Model, RunId: t.RunID,
		Id: t.Done.GetMessageId(), FinishReason: t.Done.GetFinishReason(), Usage: t.Done.GetUsage(),
		Status: t.status(), Error: t.Failed,
	}
	for _, r := range t.Rounds {
		m.Steps = append(m.Steps, r.steps()...)
	}
	return m
}

func (t *Transcript) status() string {
	switch {
	case t.Failed != nil:
		return "failed"
	case t.Done == nil:
		return "running"
	case t.Done.GetFinishReason() == "cancelled":
		return "cancelled"
	}
	return "completed"
}

// steps are thinking, text, calls and results, in this order.
func (r *Round) steps() []*orchestratorv1.Step {
	var steps []*orchestratorv1.Step
	if r.Thinking != "" {
		steps = append(steps, &orchestratorv1.Step{Type: "thinking", Round: r.Number, Content: r.Thinking})
	}
	if r.Text != "" {
		steps = append(steps, &orchestratorv1.Step{Type: "text", Round: r.Number, Content: r.Text})
	}
	for _, c := range r.Calls {
		steps = append(steps, &orchestratorv1.Step{Type: "tool_call", Round: r.Number, Call: &orchestratorv1.ToolCall{
			Id: c.ID, Type: "function", Function: &orchestratorv1.FunctionCall{Name: c.Name, Arguments: c.Arguments},
		}})
	}
	for _, c := range r.Calls {
		if c.Result != nil {
			steps = append(steps, &orchestratorv1.Step{Type: "tool_result", Round: r.Number, Result: c.Result})
		}
	}
	return steps
}
