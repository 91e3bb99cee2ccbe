package adaptertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

// Shape says where an API's answer has what.
type Shape struct {
	// File is an answer with rows: testdata/FILE.http.
	File string
	// List is the way to the list of rows: names and numbers with dots between
	// them.
	List string
	// Title and URL are the names in a row without which there is none.
	Title, URL string
	// Vital are the ways to what tells an answer from a failure.
	Vital []string
}

// wanted is how many rows the answer is made to have.
const wanted = 10

// Shapes checks that the engine's answer is read for what it is whatever form
// its parts have: what is beside the rows may be of any, a row that cannot be
// read is told and costs no other, too many of them are a changed layout, and
// nothing but the engine's own empty list says that there is nothing.
func Shapes(t *testing.T, engine adapter.Adapter, s Shape) {
	t.Helper()
	found := Responses(t, "testdata", s.File)
	original, ok := found[filepath.Join("testdata", s.File+".http")]
	if !ok {
		t.Fatalf("no testdata/%s.http", s.File)
	}
	c := shapes{s, engine, original}
	c.check(t, "as it is", c.answer(t), wanted, outcome.OK)
	c.rows(t)
	c.parts(t)
	c.bodies(t)
}

type shapes struct {
	Shape
	engine   adapter.Adapter
	original adapter.Response
}

// answer is the answer anew, with as many rows as are wanted.
func (c shapes) answer(t *testing.T) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(c.original.Body, &v); err != nil {
		t.Fatal(err)
	}
	list, _ := at(v, c.List).([]any)
	if len(list) == 0 {
		t.Fatalf("no rows at %s", c.List)
	}
	rows := make([]any, wanted)
	for i := range rows {
		rows[i] = map[string]any{}
		for name, value := range list[0].(map[string]any) {
			rows[i].(map[string]any)[name] = value
		}
	}
	set(v, c.List, rows)
	return v
}

func (c shapes) check(t *testing.T, name string, v any, rows int, want outcome.Code) {
	t.Helper()
	body, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	c.checkBody(t, name, body, rows, want)
}

// checkBody wants an outcome and a number of rows; fewer than there were have
// to be told. An empty want is for any failure.
func (c shapes) checkBody(t *testing.T, name string, body []byte, rows int, want outcome.Code) {
	t.Helper()
	r := c.original
	r.Body = body
	p, o := c.engine.Parse(r)
	switch {
	case o.Code.HasResults() != (len(p.Results) > 0):
		t.Errorf("%s: %s with %d rows", name, o.Code, len(p.Results))
	case want == "" && o.Code.Answered():
		t.Errorf("%s: %s with %d rows, want a failure", name, o.Code, len(p.Results))
	case want != "" && (o.Code != want || len(p.Results) != rows):
		t.Errorf("%s: %s (%s) with %d rows, want %s with %d", name, o.Code, o.Detail, len(p.Results), want, rows)
	case want == outcome.OK && rows < wanted && o.Detail == "":
		t.Errorf("%s: nobody tells of the rows left out", name)
	}
}

// forms are what may stand where something else is expected.
func forms() map[string]any {
	return map[string]any{
		"null": nil, "a number": 7.5, "a string": "x", "an empty string": "", "an empty list": []any{}, "an empty object": map[string]any{},
		"a list": []any{7.0, "x", nil}, "an object": map[string]any{"x": []any{}}, "a truth": true,
	}
}

func (c shapes) rows(t *testing.T) {
	t.Helper()
	for form, value := range forms() {
		v := c.answer(t)
		set(v, c.List+".3", value)
		c.check(t, "a row that is "+form, v, wanted-1, outcome.OK)
	}
	addresses := []string{"", " ", "/tea", "tea.example", "//tea.example/", "ftp://tea.example/", "javascript:alert(1)", "data:text/html,x", "http://", "https://a b/", "mailto:a@b.example"}
	for _, address := range addresses {
		v := c.answer(t)
		set(v, c.List+".3."+c.URL, address)
		c.check(t, fmt.Sprintf("a row at %q", address), v, wanted-1, outcome.OK)
	}
	for n, want := range map[int]outcome.Code{3: outcome.OK, 4: outcome.LayoutUnrecognised, wanted: outcome.LayoutUnrecognised} {
		for _, name := range []string{c.Title, c.URL} {
			v, left := c.answer(t), wanted-n
			for i := range n {
				remove(v, c.List+"."+strconv.Itoa(i)+"."+name)
			}
			if want != outcome.OK {
				left = 0
			}
			c.check(t, fmt.Sprintf("%d rows without %s", n, name), v, left, want)
		}
	}
}

// parts changes every part of the answer in turn.
func (c shapes) parts(t *testing.T) {
	t.Helper()
	for _, way := range c.ways(c.answer(t), "") {
		for form, value := range forms() {
			if way == c.List && form == "an empty list" {
				v := c.answer(t)
				set(v, way, value)
				c.check(t, "an empty list of rows", v, 0, outcome.EmptyVerified)
				continue
			}
			v := c.answer(t)
			set(v, way, value)
			c.changed(t, way+" is "+form, way, v)
		}
		v := c.answer(t)
		remove(v, way)
		c.changed(t, way+" is missing", way, v)
	}
}

func (c shapes) changed(t *testing.T, name, way string, v any) {
	t.Helper()
	first := c.List + ".0"
	switch in, inRow := strings.CutPrefix(way, first+"."); {
	case inRow && in == c.Title && at(v, way) != nil && fmt.Sprint(at(v, way)) == "x", inRow && in == c.Title && at(v, way) == 7.5:
		c.check(t, name, v, wanted, outcome.OK)
	case inRow && (in == c.Title || in == c.URL), way == first:
		c.check(t, name, v, wanted-1, outcome.OK)
	case strings.HasPrefix(c.List+".", way+"."), slices.Contains(c.Vital, way):
		c.check(t, name, v, 0, "")
	default:
		c.check(t, name, v, wanted, outcome.OK)
	}
}

// ways are the ways to all parts of v, of the rows the first one's alone.
func (c shapes) ways(v any, to string) []string {
	var out []string
	add := func(name string, inner any) {
		way := strings.TrimPrefix(to+"."+name, ".")
		out = append(append(out, way), c.ways(inner, way)...)
	}
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if !strings.Contains(name, ".") {
				add(name, inner)
			}
		}
	case []any:
		for i, inner := range v {
			if to == c.List && i > 0 {
				break
			}
			add(strconv.Itoa(i), inner)
		}
	}
	return out
}

// bodies changes the answer as text.
func (c shapes) bodies(t *testing.T) {
	t.Helper()
	body, err := json.Marshal(c.answer(t))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		c.checkBody(t, fmt.Sprintf("cut after %d of 20 parts", i), body[:len(body)*i/20], 0, outcome.LayoutUnrecognised)
	}
	again := func(name, value string) []byte {
		return fmt.Appendf(bytes.Clone(body[:len(body)-1]), ",%q:%s}", name, value)
	}
	top, _, _ := strings.Cut(c.List, ".")
	failing := map[string][]byte{
		"with another answer behind it": append(bytes.Clone(body), body...),
		"with an error page behind it":  append(bytes.Clone(body), "<h1>502</h1>"...),
		"as a stream of events":         append([]byte("event: message\ndata: "), body...),
		"in a list":                     append(append([]byte("["), body...), ']'),
		"in a string":                   []byte(strconv.Quote(string(body))),
		"with the list twice":           again(top, "[]"),
		"with the list twice and empty": again(top, `{}`),
		"as a page":                     []byte("<!doctype html><title>Sign in</title><form><input name=user></form>"),
		"very deep":                     bytes.Repeat([]byte(`{"a":[`), 200_000),
		"the word for none":             []byte("null"),
		"an empty object":               []byte("{}"),
		"an empty list":                 []byte("[]"),
	}
	for name, b := range failing {
		c.checkBody(t, name, b, 0, outcome.LayoutUnrecognised)
	}
	c.checkBody(t, "with white space around it", fmt.Appendf(nil, "\r\n \t%s\n\n", body), wanted, outcome.OK)
	c.checkBody(t, "with a part that is not known", again("news_of_tomorrow", `[{"title":"x"}]`), wanted, outcome.OK)
}
