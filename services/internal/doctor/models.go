package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
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
	key := keyWords(m)
	at := fmt.Sprintf("models[%d]", i)
	var passing interface{ Retryable() bool }
	switch {
	case got.Answered && errors.As(err, &passing) && passing.Retryable():
		fault, hint := orchestrator.AdviceOf(err)
		return warning(cmp.Or(hint, "try again")+"; if it stays, ask the provider", "%s (%s)", fault, key)
	case err != nil:
		fault, hint := orchestrator.AdviceOf(err)
		fix := fmt.Sprintf(`the settings are %s.api_url, %s.api_key and %s.model; "nanoclaw config" prints what is in force`, at, at, at)
		if hint != "" {
			fix = hint + ". " + strings.ToUpper(fix[:1]) + fix[1:]
		}
		return failed(fix, "%s (%s)", fault, key)
	case !got.HasList:
		return warning(fmt.Sprintf("ask it: nanoclaw models check %s --rounds 1; if that fails, correct %s", m.ID, at),
			"the endpoint answers but lists no models (%s), so neither key nor model could be checked (%s)", got.Note, key)
	case !got.Listed:
		return warning(fmt.Sprintf("correct %s.model, or %s.id where it has none, if the provider knows it by another name", at, at),
			"%s answers (%s), but the model is not among the %d it lists", got.URL, key, got.Models)
	}
	return ok("%s answers in %d ms and lists the model (%s)", got.URL, got.Took.Milliseconds(), key)
}

// keyWords say which key a model has and where it came from, but not the key.
func keyWords(m orchestrator.ModelConfig) string {
	from := m.KeyOrigin.String()
	switch {
	case m.APIKey == "" && len(m.KeyOrigin.Variables) > 0:
		return "no key is set: " + from + " is empty"
	case m.APIKey == "":
		return "no key is set"
	case from == "":
		return fmt.Sprintf("key %s", m.APIKey)
	case m.KeyOrigin.Trimmed:
		return fmt.Sprintf("key %s of %s, without the white space or quotes around it", m.APIKey, from)
	}
	return fmt.Sprintf("key %s of %s", m.APIKey, from)
}
