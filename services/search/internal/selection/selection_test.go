package selection

import (
	"slices"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

func TestOrder(t *testing.T) {
	cases := []struct {
		name                  string
		configured, requested string
		want                  []string
		reason                string
	}{
		{"nobody chose: bing, then duckduckgo", "", "", []string{"bing", "duckduckgo"}, ""},
		{"the operator chose: no other", "bing", "", []string{"bing"}, ""},
		{"the caller chose: no other", "", "duckduckgo", []string{"duckduckgo"}, ""},
		{"the caller is over the operator", "bing", "duckduckgo", []string{"duckduckgo"}, ""},
		{"case and blanks do not matter", " Bing ", "", []string{"bing"}, ""},
		{"api is not there yet", "api", "", nil, ReasonUnavailable},
		{"brave is not there yet", "brave", "", nil, ReasonUnavailable},
		{"brave is not there for callers either", "", "brave", nil, ReasonUnavailable},
		{"a caller may go around an absent one", "api", "bing", []string{"bing"}, ""},
		{"an unknown one is the caller's mistake", "", "altavista", nil, "INVALID_ARGUMENT"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := Rules{Configured: c.configured, Default: []string{"bing", "duckduckgo"}, Known: []string{"bing", "duckduckgo"}}
			if err := r.Validate(); err != nil {
				t.Fatal(err)
			}
			got, err := r.Order(c.requested)
			if !slices.Equal(got, c.want) || rpcerr.Reason(err) != c.reason {
				t.Errorf("got %v with reason %q, want %v with %q", got, rpcerr.Reason(err), c.want, c.reason)
			}
		})
	}
}

func TestAnUnknownConfiguredEngineIsRefusedAtStart(t *testing.T) {
	err := Rules{Configured: "bang", Known: []string{"bing", "duckduckgo"}}.Validate()
	if err == nil {
		t.Fatal("accepted")
	}
	if want := `search: adapter "bang" is unknown: use one of bing, duckduckgo`; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}
