package provider

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
)

// keyFacts are what may be said of a model's key, which is never the key.
type keyFacts struct {
	// set says that a credential is sent.
	set bool
	// origin is where it came from; zero when nobody told.
	origin config.SecretOrigin
	// header is what carries it, in words.
	header string
}

// keyFactsOf looks at a configuration whose key was trimmed already; trimmed says
// whether there was something to trim.
func keyFactsOf(cfg Config, trimmed bool) keyFacts {
	k := keyFacts{set: cfg.APIKey != "", origin: cfg.KeyOrigin, header: cfg.keyHeader()}
	k.origin.Trimmed = k.origin.Trimmed || trimmed
	for name := range cfg.Headers { // of the operator's own, and they win
		if carriesKey(name) {
			k.set, k.header = true, http.CanonicalHeaderKey(name)+", as models[].headers has it"
		}
	}
	return k
}

// carriesKey reports whether a header is one that credentials travel in.
func carriesKey(header string) bool {
	header = strings.ToLower(header)
	return strings.Contains(header, "authorization") || strings.Contains(header, "key") || strings.Contains(header, "token")
}

// sent says how the key got to the provider.
func (k keyFacts) sent() string {
	words := "It was sent in the header " + k.header
	if from := k.origin.String(); from != "" {
		words = "It came from " + from + " and was sent in the header " + k.header
	}
	if k.origin.Trimmed {
		words += "; white space or quotes that stood around it were removed"
	}
	return words
}

// missing says that no key was sent, and why that may be.
func (k keyFacts) missing() string {
	if names := k.origin.Variables; len(names) > 0 {
		return fmt.Sprintf("No API key was sent, because %s is empty: export it before the start (a service manager or a container does not see the variables of your shell)", k.origin)
	}
	return "No API key is set for this model: set api_key, as in api_key: ${MY_KEY}, and see that the variable was exported before the start"
}

// hint says what to do about an error that a provider sent.
func (x explainer) hint(e Error, f failure) string {
	switch e.Kind {
	case KindAuth:
		return x.authHint(e, f)
	case KindNotFound:
		return x.notFoundHint(e, f)
	case KindQuota:
		again := "repeating does not help"
		if e.RetryAfter > 0 {
			again = "the provider says that there is more in " + waitWords(e.RetryAfter)
		}
		return "The account has no credit or quota left: top it up or raise its limit, or choose another model; " + again
	case KindRateLimited:
		if e.RetryAfter > 0 {
			return "Too many requests: wait " + waitWords(e.RetryAfter)
		}
		return "Too many requests: wait before the next call"
	case KindContextLength:
		return "The conversation does not fit the model's context window: shorten it or choose a model with a larger one"
	case KindContentFilter:
		return "The provider's content filter refused it"
	case KindOverloaded, KindServer, KindTimeout:
		if e.RetryAfter > 0 {
			return "The fault is the provider's: try again in " + waitWords(e.RetryAfter)
		}
		return "The fault is the provider's: try again later"
	case KindBadRequest:
		switch {
		case e.RefusesTools():
			return "The endpoint takes no tools for this model: set tool_mode: prompted, which describes them in the text, or choose another model"
		case e.RefusesIDs():
			return "The endpoint takes only its own form of ids for tool calls: set profile: mistral for this model"
		}
		return "The provider refuses the request as it is"
	}
	return ""
}

func (x explainer) authHint(e Error, f failure) string {
	switch {
	case e.Status == http.StatusProxyAuthRequired:
		return "A proxy on the way asks for credentials: check HTTPS_PROXY and NO_PROXY of this process"
	case f.page:
		return "A web page answers in place of the API, so the key was perhaps never looked at: check api_url, and what proxy or firewall stands before it (HTTPS_PROXY, NO_PROXY)"
	case !x.key.set:
		return x.key.missing()
	case e.Status == http.StatusForbidden && !f.has("invalid_api_key", "authentication", "unauthorized", "unauthenticated"):
		return "The API key was not allowed to do this: enable the service and this model for it at the provider, and look at what it is limited to (models, project, region, addresses). " + x.key.sent()
	}
	return "The API key was refused: check that it belongs to this provider and region, is whole, and has neither expired nor been revoked. " + x.key.sent()
}

// notFoundHint tells a model that is not known from an address where nobody
// listens for models.
func (x explainer) notFoundHint(e Error, f failure) string {
	switch {
	case f.namesModel():
		return fmt.Sprintf("The address is right, but the provider knows no model %q that this key may use: correct model, or id where model is not set (names are the provider's own; a local server may have to pull it first)", x.model)
	case f.page, f.message == "", len(f.codes) == 0, strings.Contains(strings.ToLower(f.message), "url"):
		return "Nothing answers chat completions at this path: correct api_url, which is the base address of the provider's documentation, mostly one that ends in /v1"
	}
	return fmt.Sprintf("Check the model's name and api_url: the provider knows no model %q, or nothing answers at this address", x.model)
}

// namesModel reports whether it is the model, or a deployment of one, that the
// provider speaks of.
func (f failure) namesModel() bool {
	return !f.page && (f.has("model", "deployment", "1211") || f.says("model", "deployment", "模型"))
}

// RefusesTools reports whether the provider says that its model takes no tools.
func (e *Error) RefusesTools() bool {
	low := strings.ToLower(e.Detail)
	names := strings.Contains(low, "tool") || strings.Contains(low, "function call")
	return e.Kind == KindBadRequest && names && containsAny(low, "not support", "n't support", "unsupported", "not available", "not enabled", "no endpoints found that support", "requires --enable-auto-tool-choice", "requires --jinja")
}

// RefusesIDs reports whether the provider says that ids of tool calls, such as
// those of another provider in the history, are not in the form it takes.
func (e *Error) RefusesIDs() bool {
	low := strings.ToLower(e.Detail)
	return e.Kind == KindBadRequest && containsAny(low, "tool call id", "tool_call_id", "tool_calls.id") &&
		containsAny(low, "length", "must be", "invalid", "a-z")
}

func containsAny(text string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// waitWords is a wait in whole seconds, never none.
func waitWords(d time.Duration) string { return max(d.Round(time.Second), time.Second).String() }

// keyHeader is what carries the key, in words.
func (c Config) keyHeader() string {
	return cmp.Or(c.Profile.KeyHeader, "Authorization, as a bearer token")
}

// HasKey reports whether requests carry a credential, be it the key or a header
// of the configuration.
func (c Config) HasKey() bool { return keyFactsOf(c, false).set }
