package arguments

import (
	"fmt"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// Check reads the arguments that a model wrote and brings them into the canonical
// form that the tool's schema takes. changes tells everything that was mended, in
// the text and in the values. guess says that a text in which something had to be
// guessed may be taken as well: not for a tool that changes, sends or runs
// anything. The error is always a [*toolkit.ArgumentError].
func Check(v *toolkit.Validator, text string, guess bool) (canonical []byte, changes []string, err error) {
	o, err := Read(text)
	if err != nil {
		return v.Check([]byte(text)) // whose words name the first fault
	}
	for _, r := range o.Repairs {
		changes = append(changes, "the arguments: "+string(r))
	}
	if !guess && !o.Light() {
		return nil, nil, &toolkit.ArgumentError{
			Expected: "one well-formed JSON object",
			Got:      fmt.Sprintf("text that is not, and that could only be guessed at (%s)", strings.Join(changes, "; ")),
		}
	}
	canonical, mended, err := v.Check([]byte(o.JSON))
	return canonical, append(changes, mended...), err
}
