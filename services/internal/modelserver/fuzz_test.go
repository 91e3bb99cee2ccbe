package modelserver

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// FuzzChat sends any body: every one is answered, none brings the server down.
func FuzzChat(f *testing.F) {
	script, err := Load("testdata/search-fetch.yml")
	if err != nil {
		f.Fatal(err)
	}
	script.Turns[0].Replies[1].Steps[0].DelayMS = 1
	for _, body := range []string{
		`{"messages":[` + askLookUp + `]}`, `{"stream":true,"messages":[` + askLookUp + `,` + searched + `]}`,
		`{"messages":[` + askLookUp + `,` + searched + `,` + fetched + `]}`, `{"messages":null}`, `[`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		w := httptest.NewRecorder()
		New(script).ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(body)))
		if w.Code != 200 && w.Code != 400 && w.Code != 501 {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
		if w.Body.Len() == 0 {
			t.Error("no answer")
		}
	})
}
