package outcome

import (
	"fmt"
	"time"
)

// openQuestion ends every failure's words: a model that reads "blocked" as
// "nothing found" tells its user that a thing does not exist.
const openQuestion = " This says nothing about what exists: do not conclude that there are no results."

// words are what models and people are told. Only EmptyVerified says that nothing
// was found.
var words = map[Code]string{
	OK:               "The search engine answered.",
	OKAlteredQuery:   "The search engine changed the query before it searched; the results are for the changed query.",
	EmptyVerified:    "No results: the search engine says that it found nothing for this query. Try fewer or other words.",
	EmptyAfterFilter: "The search engine has results, but none on the domains that were asked for. Loosen allowed_domains or blocked_domains to see them.",

	DecoySuspected:     "The search engine sent results of other queries instead of an answer to this one, so they were thrown away." + openQuestion + " Reword the query or try again later.",
	Challenge:          "The search engine blocked the request with a captcha or a refusal." + openQuestion + " Try again later, or fetch a page that you already know.",
	RateLimited:        "The search engine may not be asked more often for the moment." + openQuestion + " Wait before searching again.",
	QuotaExhausted:     "The allowance with the search engine is used up." + openQuestion + " Searching works again with its next period, or when the operator raises it.",
	AuthFailed:         "The search engine refused the credentials of this installation." + openQuestion + " The operator has to renew the key.",
	BadRequest:         "The search engine refused the request as malformed." + openQuestion + " Simplify the query.",
	UnsupportedOption:  "The search engine cannot do what an option asks for." + openQuestion + " Leave the option out.",
	Config:             "The search engine is not set up properly on this installation." + openQuestion + " The operator has to correct its settings.",
	JSShell:            "The search engine sent a page that needs a browser with scripts." + openQuestion + " Try again later, or fetch a page that you already know.",
	LayoutUnrecognised: "The search engine sent a page that cannot be read reliably." + openQuestion + " Try again later, or fetch a page that you already know.",
	Upstream5xx:        "The search engine is failing." + openQuestion + " Try again later.",
	Timeout:            "The search engine did not answer in time." + openQuestion + " Try again.",
	Cancelled:          "The search was cancelled before there was an answer." + openQuestion,
	Transport:          "The search engine could not be reached." + openQuestion + " Try again later.",
}

// Span is how long to wait, in words, rounded up to whole units.
func Span(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{24 * time.Hour, "days"}, {time.Hour, "hours"}, {time.Minute, "minutes"}} {
		if d > 2*u.unit {
			return fmt.Sprintf("%d %s", (d-1)/u.unit+1, u.name)
		}
	}
	if d > 0 && d <= time.Second {
		return "1 second"
	}
	return fmt.Sprintf("%d seconds", (max(d, 0)+time.Second-1)/time.Second)
}

// Words tells a model, or a person, what c means and what to do next.
func (c Code) Words() string { return words[c] }
