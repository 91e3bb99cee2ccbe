package modelserver

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const pollScript = `
turns:
  - replies:
      - until: {tool: query, path: status, is: completed, at_most: 3}
        steps: [{call: {name: query, arguments: {}}}]
      - steps: [{text: "It says {{result query status}}."}]
`

func TestAReplyIsPlayedUntilAResultSaysSo(t *testing.T) {
	s := New(mustParse(t, pollScript))
	for _, tc := range []struct {
		name     string
		statuses []string
		want     string // in the answer
	}{
		{"nothing was asked yet", nil, `"name":"query"`},
		{"not yet", []string{"running"}, `"name":"query"`},
		{"still not", []string{"running", "running"}, `"name":"query"`},
		{"at once", []string{"completed"}, "It says completed."},
		{"after a while", []string{"running", "completed"}, "It says completed."},
		{"never: no more than at_most times", []string{"running", "running", "running"}, "It says running."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			messages := []string{`{"role":"user","content":"go"}`}
			for i, status := range tc.statuses {
				messages = append(messages,
					fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"query","arguments":"{}"}}]}`, i),
					fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":"{\"status\":\"%s\"}"}`, i, status))
			}
			status, body, _ := post(t, s, `{"model":"m","messages":[`+strings.Join(messages, ",")+`]}`)
			if status != http.StatusOK || !strings.Contains(body, tc.want) {
				t.Errorf("%d %s, want %s", status, body, tc.want)
			}
		})
	}
	t.Run("a result without the value is refused", func(t *testing.T) {
		status, body, _ := post(t, s, `{"model":"m","messages":[{"role":"user","content":"go"},`+
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"query","arguments":"{}"}}]},`+
			`{"role":"tool","tool_call_id":"c","content":"{}"}]}`)
		if status != http.StatusNotImplemented || !strings.Contains(body, "until") {
			t.Errorf("%d %s", status, body)
		}
	})
	t.Run("without an end it is no script", func(t *testing.T) {
		if _, err := Parse([]byte(strings.Replace(pollScript, ", at_most: 3", "", 1))); err == nil || !strings.Contains(err.Error(), "until: wants") {
			t.Error(err)
		}
	})
}
