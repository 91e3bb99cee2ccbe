package provider

import "unicode/utf8"

// estimateUsage guesses the tokens of a call whose provider counted none: four
// characters of ASCII a token, one token for any other character, and a few
// tokens of framing a message.
func estimateUsage(req Request, resp Response) Usage {
	const perMessage = 4
	u := Usage{Estimated: true}
	for _, m := range req.Messages {
		u.InputTokens += perMessage + tokens(m.Content) + callTokens(m.Calls)
	}
	for _, t := range req.Tools {
		u.InputTokens += tokens(t.Name) + tokens(t.Description) + tokens(string(t.Parameters))
	}
	u.ReasoningTokens = tokens(resp.Reasoning)
	u.OutputTokens = u.ReasoningTokens + tokens(resp.Text) + callTokens(resp.Calls)
	return u
}

// EstimateInput guesses the tokens of a request, as for a provider that counts
// none.
func EstimateInput(req Request) int { return estimateUsage(req, Response{}).InputTokens }

func callTokens(calls []Call) int {
	n := 0
	for _, c := range calls {
		n += tokens(c.Name) + tokens(c.Arguments)
	}
	return n
}

func tokens(s string) int {
	runes := utf8.RuneCountInString(s)
	wide := 0
	for _, r := range s {
		if r >= utf8.RuneSelf {
			wide++
		}
	}
	return wide + (runes-wide+3)/4
}
