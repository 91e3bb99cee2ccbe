package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
)

// ReasonNotStored is the reason of a call whose result could not be stored.
const ReasonNotStored = "RESULT_NOT_STORED"

// Part stands for a result that the blob store did not take: a failure with as
// much of the result's text as the database keeps. err is what the store said;
// it goes to no reader. again says that the call may simply be made again.
func Part(contentJSON string, err error, again bool) string {
	why := "the store of long results refuses it"
	if errors.Is(err, blob.ErrUnavailable) {
		why = "the store of long results is not reachable"
	}
	source := ModelSource(contentJSON)
	total := utf8.RuneCountInString(source)
	// A text of which each byte is escaped is six times as long.
	for chars := min(total, maxInlineBytes); ; chars = chars * 3 / 4 {
		head, _ := cut(source, 0, chars)
		kept := fmt.Sprintf("The first %d characters are kept, and the rest is lost.", chars)
		if chars == total {
			kept = "Its text is kept, and nothing else of it."
		}
		message := fmt.Sprintf("The call was made and answered %d characters, but %s. %s", total, why, kept)
		b, err := json.Marshal(map[string]any{
			"success":   false,
			"error":     map[string]any{"reason": ReasonNotStored, "message": message, "retryable": again},
			"truncated": true, "total_chars": total,
			markdown: message + "\n\n" + head,
		})
		if err != nil {
			panic(err) // strings, numbers and booleans always encode
		}
		if len(b) <= maxInlineBytes {
			return string(b)
		}
	}
}
