package ident

import (
	"strings"
	"sync"
	"testing"
)

func TestIDsSortByAge(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			last := ""
			for range 500 {
				id := New("run_")
				if id <= last || !Is(id, "run_") {
					t.Errorf("%s after %s", id, last)
				}
				last = id
				mu.Lock()
				if seen[id] {
					t.Errorf("%s twice", id)
				}
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

func TestWhatIsNoID(t *testing.T) {
	id := New("run_")
	for name, s := range map[string]string{
		"nothing":                  "",
		"the prefix alone":         "run_",
		"another prefix":           New("msg_"),
		"no prefix":                strings.TrimPrefix(id, "run_"),
		"capitals":                 "run_" + strings.ToUpper(id[4:]),
		"one character missing":    id[:len(id)-1],
		"one character too many":   id + "0",
		"a space behind":           id + " ",
		"a letter that ULIDs lack": id[:len(id)-1] + "u",
	} {
		if Is(s, "run_") {
			t.Errorf("%s: %q counts as an id", name, s)
		}
	}
}
