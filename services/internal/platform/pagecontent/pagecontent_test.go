package pagecontent

import (
	"encoding/json"
	"testing"

	"go.uber.org/goleak"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestForModelHasTheOneEntryThatWasAskedFor(t *testing.T) {
	c := &fetcherv1.PageContent{
		Text: "the text", Markdown: "**the** text", Raw: "<b>the</b> text", FullText: "menu the text",
		Links:  []*fetcherv1.Link{{Text: "a", Url: "http://a.example/"}},
		Images: []*fetcherv1.Image{{Alt: "b", Src: "http://a.example/b.png"}},
		Structured: &fetcherv1.StructuredPage{
			Title: "T", Meta: map[string]string{"k": "v"}, Headings: []*fetcherv1.Heading{{Level: 1, Text: "H"}}, Paragraphs: []string{"p"},
		},
		Tables: []*fetcherv1.Table{{Caption: "C", Header: true, TotalRows: 9, Rows: []*fetcherv1.TableRow{{Cells: []string{"x", "y"}}}}},
		Feed:   &fetcherv1.Feed{Title: "F", TotalItems: 3, Items: []*fetcherv1.FeedItem{{Title: "I", Published: "2024-01-02T03:04:05Z"}}},
	}
	tests := []struct{ name, extract, want string }{
		{"text", Text, `{"text":"the text"}`},
		{"text by default", "", `{"text":"the text"}`},
		{"Markdown", Markdown, `{"markdown":"**the** text"}`},
		{"the source", Raw, `{"raw":"\u003cb\u003ethe\u003c/b\u003e text"}`},
		{"all text", FullText, `{"full_text":"menu the text"}`},
		{"links", Links, `{"links":[{"text":"a","url":"http://a.example/"}]}`},
		{"images", Images, `{"images":[{"alt":"b","src":"http://a.example/b.png"}]}`},
		{"parts", Structured, `{"structured":{"headings":[{"level":1,"text":"H"}],"meta":{"k":"v"},"paragraphs":["p"],"title":"T"}}`},
		{"tables", Tables, `{"tables":[{"caption":"C","header":true,"rows":[["x","y"]],"total_rows":9}]}`},
		{"a feed", Feed, `{"feed":{"title":"F","items":[{"title":"I","published":"2024-01-02T03:04:05Z"}],"total_items":3}}`},
		{"metadata, which stands beside it", Metadata, `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := json.Marshal(ForModel(tt.extract, c))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestForModelOfNothingHasListsThatAreEmpty(t *testing.T) {
	want := map[string]string{
		Links: `{"links":[]}`, Images: `{"images":[]}`, Tables: `{"tables":[]}`, Feed: `{"feed":null}`, Text: `{"text":""}`,
		Structured: `{"structured":{"headings":[],"meta":{},"paragraphs":[],"title":""}}`,
	}
	for extract, want := range want {
		got, err := json.Marshal(ForModel(extract, nil))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", extract, got, err)
		}
	}
}

func TestAboutTellsMoreWhereMetadataIsAskedFor(t *testing.T) {
	m := &fetcherv1.PageMetadata{Byline: "A", Pages: 3, Description: "D", Properties: map[string]string{"k": "v"}}
	if a := AboutOf(Text, m); a.Byline != "A" || a.Pages != 3 || a.Description != "" || a.Properties != nil {
		t.Errorf("%+v", a)
	}
	if a := AboutOf(Metadata, m); a.Description != "D" || a.Properties["k"] != "v" {
		t.Errorf("%+v", a)
	}
}
