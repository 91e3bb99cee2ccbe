package taint

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/storable"
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

func TestOriginsCanAlwaysBeSent(t *testing.T) {
	for _, origin := range []string{"fetch_page:" + strings.Repeat("é", maxOriginBytes), "x" + strings.Repeat("搜", maxOriginBytes), "bad\xffbytes", "fetch_page:a\x00.org"} {
		for _, o := range New(origin) {
			if !storable.Is(o) || len(o) > maxOriginBytes || len(o) < 5 {
				t.Errorf("%.20q became %q", origin, o)
			}
		}
	}
	if s := New("\xff\xfe"); !s.Tainted() {
		t.Error("an origin that cannot be read looks trusted")
	}
}

func FuzzSets(f *testing.F) {
	f.Add("a:b", `["a"]`)
	f.Add(strings.Repeat("é", 200), "null")
	f.Fuzz(func(t *testing.T, origin, stored string) {
		s := New(origin, "z:1")
		v, err := s.Value()
		if err != nil {
			t.Fatal(err)
		}
		var back Set
		if err := back.Scan(v); err != nil || !slices.Equal(back, s) {
			t.Errorf("%q came back as %q (%v)", s, back, err)
		}
		var other Set
		if other.Scan(stored) == nil && len(other) > MaxOrigins {
			t.Errorf("%d origins", len(other))
		}
	})
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
