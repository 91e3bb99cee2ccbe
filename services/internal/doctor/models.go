package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nanoclaw/nanoclaw/services/orchestrator"
)

// modelTime is how long an endpoint may take to list its models.
const modelTime = 5 * time.Second

func (x *examination) models() []check {
	if len(x.cfg.Models) == 0 {
		return []check{{"models", func(context.Context) []Finding {
			return warning(`put one into config.yml; "nanoclaw chat" shows how`, "none is configured: everything works but answering")
		}}}
	}
	var all []check
	for i, m := range x.cfg.Models {
		all = append(all, check{"model " + m.ID, func(ctx context.Context) []Finding { return x.model(ctx, i, m) }})
	}
	return all
}

func (x *examination) model(ctx context.Context, i int, m orchestrator.ModelConfig) []Finding {
	ctx, cancel := context.WithTimeout(ctx, modelTime)
	defer cancel()
	got, err := orchestrator.CheckModel(ctx, m)
	x.clocks.add("the endpoint of model "+m.ID, got.Date, got.Asked)
	key := "no key is set"
	if m.APIKey != "" {
		key = fmt.Sprintf("key %s", m.APIKey)
	}
	at := fmt.Sprintf("models[%d]", i)
	var passing interface{ Retryable() bool }
	switch {
	case got.Answered && errors.As(err, &passing) && passing.Retryable():
		return warning("try again; if it stays, ask the provider", "%v (%s)", err, key)
	case err != nil:
		return failed(fmt.Sprintf(`correct %s.api_url or %s.api_key; "nanoclaw config" prints what is in force`, at, at), "%v (%s)", err, key)
	case !got.HasList:
		return warning(fmt.Sprintf("ask something with it; if that fails, correct %s", at),
			"the endpoint answers but lists no models (%s), so neither key nor model could be checked (%s)", got.Note, key)
	case !got.Listed:
		return warning(fmt.Sprintf("correct %s.model, or %s.id where it has none, if the provider knows it by another name", at, at),
			"%s answers (%s), but the model is not among the %d it lists", got.URL, key, got.Models)
	}
	return ok("%s answers in %d ms and lists the model (%s)", got.URL, got.Took.Milliseconds(), key)
}
