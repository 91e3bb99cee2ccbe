package search

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	"github.com/nanoclaw/nanoclaw/services/search/internal/answercache"
)

// choosers are the fields of a request that decide who is asked, whether, or what
// of the answer is given, but not what an engine answers.
var choosers = []protoreflect.Name{"provider", "providers", "mode", "strict_options", "cache"}

// TestEveryFieldOfARequestChangesTheQuestionOrOnlyWhoIsAsked sets one field after
// the other, those that come to be as well.
func TestEveryFieldOfARequestChangesTheQuestionOrOnlyWhoIsAsked(t *testing.T) {
	s, _, end := startInMemory(t, nil)
	defer end()
	key := func(r *searchv1.SearchRequest) string {
		t.Helper()
		q, err := check(s.question(r), time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
		if err != nil {
			t.Fatalf("%v: %v", r, err)
		}
		k, err := answercache.Key("bing", q.asked)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	base := &searchv1.SearchRequest{Query: "tea"}
	seen := map[string]protoreflect.Name{key(base): "nothing"}
	values := map[protoreflect.Name][]string{
		"query": {"coffee"}, "mode": {"fused"}, "freshness": {"day", "week", "month", "year"}, "published_from": {"2025-01-01"}, "published_to": {"2025-02-01"},
		"language": {"fr", "zh-Hans", "zh-Hant"}, "region": {"FR"}, "country": {"FR"}, "safe_search": {"off", "moderate", "strict"}, "cache": {"refresh"},
		"provider": {"bing"}, "providers": {"bing"}, "allowed_domains": {"a.example"}, "blocked_domains": {"b.example"},
		"city": {"Paris"}, "timezone": {"Europe/Paris"},
	}
	var each func(change func(func(protoreflect.Message)) *searchv1.SearchRequest, fields protoreflect.FieldDescriptors, above protoreflect.Name)
	each = func(change func(func(protoreflect.Message)) *searchv1.SearchRequest, fields protoreflect.FieldDescriptors, above protoreflect.Name) {
		for i := range fields.Len() {
			f := fields.Get(i)
			if f.Kind() == protoreflect.MessageKind {
				each(func(set func(protoreflect.Message)) *searchv1.SearchRequest {
					return change(func(m protoreflect.Message) { set(m.Mutable(f).Message()) })
				}, f.Message().Fields(), f.Name())
				continue
			}
			name := f.Name()
			if above == "location" && name == "region" {
				values["region"] = []string{"Brittany"}
			}
			for _, v := range valuesOf(t, f, values[name]) {
				r := change(func(m protoreflect.Message) {
					if f.IsList() {
						m.Mutable(f).List().Append(v)
						return
					}
					m.Set(f, v)
				})
				k := key(r)
				before, same := seen[k]
				switch chooses := above == "" && slices.Contains(choosers, name); {
				case chooses && before != "nothing":
					t.Errorf("%s = %v changes the question", name, v)
				case !chooses && same:
					t.Errorf("%s = %v asks the same as %s", name, v, before)
				}
				if !same {
					seen[k] = name
				}
			}
		}
	}
	each(func(set func(protoreflect.Message)) *searchv1.SearchRequest {
		r := proto.CloneOf(base)
		set(r.ProtoReflect())
		return r
	}, base.ProtoReflect().Descriptor().Fields(), "")
}

func valuesOf(t *testing.T, f protoreflect.FieldDescriptor, texts []string) []protoreflect.Value {
	t.Helper()
	switch f.Kind() {
	case protoreflect.StringKind:
		var out []protoreflect.Value
		for _, s := range texts {
			out = append(out, protoreflect.ValueOfString(s))
		}
		if len(out) == 0 {
			t.Fatalf("%s is new: say what it may be", f.Name())
		}
		return out
	case protoreflect.BoolKind:
		return []protoreflect.Value{protoreflect.ValueOfBool(true)}
	case protoreflect.Int32Kind:
		return []protoreflect.Value{protoreflect.ValueOfInt32(3), protoreflect.ValueOfInt32(4)}
	case protoreflect.DoubleKind:
		return []protoreflect.Value{protoreflect.ValueOfFloat64(12.5), protoreflect.ValueOfFloat64(-0.5)}
	}
	t.Fatalf("%s is of kind %s", f.Name(), f.Kind())
	return nil
}

// TestAKeptAnswerPassesTheFilterOfWhoeverAsks has lists too long to be hinted at,
// which are one question to an engine.
func TestAKeptAnswerPassesTheFilterOfWhoeverAsks(t *testing.T) {
	domains := func(from int) []string {
		var out []string
		for i := range 6 {
			out = append(out, fmt.Sprintf("d%d.example", from+i))
		}
		return out
	}
	for _, how := range []string{"kept", "at the same time"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, w, end := startInMemory(t, nil)
				defer end()
				w.set("bing", after(time.Second, says(200, bingPage("tea guide", "https://d1.example/", "https://www.d1.example/", "https://d9.example/", "https://other.example/"))))
				search := func(from int, want string) {
					r := &searchv1.SearchRequest{Query: "tea guide", AllowedDomains: domains(from)}
					if got, err := s.Search(as(t, "ann"), r); err != nil || found(got) != want || got.FilteredOut != 2 {
						t.Errorf("from %d: %q, %d left out (%v)", from, found(got), got.GetFilteredOut(), err)
					}
				}
				if how == "kept" {
					search(0, "d1")
					search(8, "d9")
				} else {
					done := make(chan struct{})
					go func() { search(0, "d1"); close(done) }()
					search(8, "d9")
					<-done
				}
				if n := w.times("bing"); n != 1 {
					t.Errorf("asked %d times", n)
				}
			})
		})
	}
}

func TestOfTwoAddressesOfOnePageTheOneThatIsAllowedIsGiven(t *testing.T) {
	s, w, end := startInMemory(t, nil)
	defer end()
	w.set("bing", says(200, bingPage("tea guide", "https://m.tea.example/a", "https://www.tea.example/a")))
	r := &searchv1.SearchRequest{Query: "tea guide", BlockedDomains: []string{"m.tea.example"}}
	if got, err := s.Search(as(t, "ann"), r); err != nil || len(got.Results) != 1 || got.Results[0].Url != "https://www.tea.example/a" || got.FilteredOut != 1 {
		t.Errorf("%v (%v)", got, err)
	}
}

func TestAMergedSearchIsOneOfTheCallers(t *testing.T) {
	s, w, end := startInMemory(t, func(c *Config) { c.CallsPerMinute = 2 })
	defer end()
	w.set("bing", says(200, bingPage("tea guide", "https://a.example/")))
	w.set("brave", braveAnswer("tea guide", addressesOf("b")))
	w.set("tavily", http.NotFound)
	for range 2 {
		if _, err := s.Search(as(t, "ann"), fusedOf("bing", "brave_web", "tavily")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Search(as(t, "ann"), fusedOf("bing", "brave_web")); err == nil {
		t.Error("a third one is let through")
	}
}
