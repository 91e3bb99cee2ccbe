package taint

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestSets(t *testing.T) {
	a := New("web_search:b.org", "fetch_page:a.org", "fetch_page:a.org", "")
	if want := (Set{"fetch_page:a.org", "web_search:b.org"}); !slices.Equal(a, want) {
		t.Fatalf("New = %v, want %v", a, want)
	}
	b := a.With("x:1")
	if len(a) != 2 || len(b) != 3 {
		t.Errorf("With changed its receiver or lost something: %v, %v", a, b)
	}
	if New().Tainted() || !a.Tainted() {
		t.Error("a set is tainted exactly when it is not empty")
	}
}

func TestASetNeverLooksCleanerThanItIs(t *testing.T) {
	var s Set
	for i := range 3 * MaxOrigins {
		s = s.With(fmt.Sprintf("fetch_page:%03d.org", i))
	}
	if len(s) > MaxOrigins || !slices.Contains(s, Many) {
		t.Errorf("%d origins, marker %v", len(s), slices.Contains(s, Many))
	}
	long := New(strings.Repeat("x", 10*maxOriginBytes))
	if len(long) != 1 || len(long[0]) != maxOriginBytes {
		t.Errorf("a long origin was not cut: %d", len(long[0]))
	}
}

func TestSetsSurviveTheDatabase(t *testing.T) {
	for _, s := range []Set{nil, New("a:b"), New(`quote":"`, "a:b")} {
		v, err := s.Value()
		if err != nil {
			t.Fatal(err)
		}
		var back Set
		if err := back.Scan(v); err != nil || !slices.Equal(back, s) {
			t.Errorf("Scan(%v) = %v, %v; want %v", v, back, err, s)
		}
	}
	var s Set
	if err := s.Scan("not json"); err == nil {
		t.Error("broken origins were read as trusted")
	}
	if err := s.Scan(7); err == nil {
		t.Error("a number was read as origins")
	}
}
