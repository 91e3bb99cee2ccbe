package fetcher

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// workbook is an Excel file of a header and two rows.
func workbook(t *testing.T) []byte {
	t.Helper()
	f := excelize.NewFile()
	defer func() { _ = f.Close() }()
	for i, row := range [][]any{{"Name", "Boat"}, {"Ann", "Gull"}, {"Bob", "Tern"}} {
		at, err := excelize.CoordinatesToCellName(1, i+1)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.SetSheetRow("Sheet1", at, &row); err != nil {
			t.Fatal(err)
		}
	}
	b, err := f.WriteToBuffer()
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// extract sends a document in parts of size bytes.
func (s *site) extract(target *fetcherv1.ExtractTarget, body []byte, size int) (*fetcherv1.ExtractResponse, error) {
	stream, err := s.fetcher.Extract(context.Background())
	if err != nil {
		return nil, err
	}
	err = stream.Send(&fetcherv1.ExtractRequest{Part: &fetcherv1.ExtractRequest_Target{Target: target}})
	for part := range chunks(body, size) {
		if err != nil {
			break // the answer says why
		}
		err = stream.Send(&fetcherv1.ExtractRequest{Part: &fetcherv1.ExtractRequest_Data{Data: part}})
	}
	return stream.CloseAndRecv()
}

func chunks(b []byte, size int) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(b) > 0 {
			n := min(size, len(b))
			if !yield(b[:n]) {
				return
			}
			b = b[n:]
		}
	}
}

func TestExtractReadsWhatIsSent(t *testing.T) {
	s := newSite(t, http.NotFound)
	hundred := int32(100)
	page := []byte(newsPage)
	tests := []struct {
		name   string
		target *fetcherv1.ExtractTarget
		body   []byte
		want   func(*fetcherv1.ExtractResponse) bool
	}{
		{"a workbook as Markdown", &fetcherv1.ExtractTarget{Name: "crew.xlsx", ExtractType: "markdown"}, workbook(t), func(r *fetcherv1.ExtractResponse) bool {
			return r.GetContent().GetMarkdown() == "**Sheet1**\n\n| Name | Boat |\n| --- | --- |\n| Ann | Gull |\n| Bob | Tern |" && r.GetMetadata().GetPageType() == "spreadsheet"
		}},
		{"its tables from a row on, with the header", &fetcherv1.ExtractTarget{ExtractType: "tables", Offset: 2}, workbook(t), func(r *fetcherv1.ExtractResponse) bool {
			want := &fetcherv1.Table{Caption: "Sheet1", Header: true, TotalRows: 3, Rows: []*fetcherv1.TableRow{{Cells: []string{"Name", "Boat"}}, {Cells: []string{"Bob", "Tern"}}}}
			return len(r.GetContent().GetTables()) == 1 && proto.Equal(r.GetContent().GetTables()[0], want) && !r.GetTruncated()
		}},
		{"a page with links against its address", &fetcherv1.ExtractTarget{ContentType: "text/html", Url: "https://a.example/x", ExtractType: "links"}, page, func(r *fetcherv1.ExtractResponse) bool {
			return len(r.GetContent().GetLinks()) == 2 && r.GetContent().GetLinks()[0].GetUrl() == "https://a.example/home"
		}},
		{"a page without an address has no links to relative ones", &fetcherv1.ExtractTarget{ExtractType: "links"}, page, func(r *fetcherv1.ExtractResponse) bool {
			return len(r.GetContent().GetLinks()) == 0 && warned(r.GetWarnings(), "links")
		}},
		{"text by parts", &fetcherv1.ExtractTarget{Name: "a.txt", MaxChars: &hundred}, []byte(strings.Repeat("国", 150)), func(r *fetcherv1.ExtractResponse) bool {
			return r.GetContent().GetText() == strings.Repeat("国", 100) && r.GetTruncated() && r.GetNextOffset() == 100 && r.GetTotalChars() == 150
		}},
		{"the source of a page", &fetcherv1.ExtractTarget{ExtractType: "raw"}, page, func(r *fetcherv1.ExtractResponse) bool { return r.GetContent().GetRaw() == newsPage }},
		{"the source of a workbook, which is no text", &fetcherv1.ExtractTarget{ExtractType: "raw"}, workbook(t), func(r *fetcherv1.ExtractResponse) bool {
			return r.GetContent().GetRaw() == "" && warned(r.GetWarnings(), "not_text")
		}},
		{"a feed of what is none", &fetcherv1.ExtractTarget{ExtractType: "feed"}, page, func(r *fetcherv1.ExtractResponse) bool {
			return r.GetContent().GetFeed() == nil && warned(r.GetWarnings(), "not_feed")
		}},
		{"a name that lies", &fetcherv1.ExtractTarget{Name: "crew.pdf"}, workbook(t), func(r *fetcherv1.ExtractResponse) bool {
			return strings.HasPrefix(r.GetContent().GetText(), "Sheet1\nName\tBoat") && warned(r.GetWarnings(), "content_type")
		}},
		{"code as Markdown", &fetcherv1.ExtractTarget{Name: "a.yml", ExtractType: "markdown"}, []byte("a: 1\n"), func(r *fetcherv1.ExtractResponse) bool {
			return r.GetContent().GetMarkdown() == "```yaml\na: 1\n```"
		}},
	}
	for _, tt := range tests {
		for _, size := range []int{1 << 20, 7} {
			t.Run(tt.name, func(t *testing.T) {
				got, err := s.extract(tt.target, tt.body, max(size, len(tt.body)/1000))
				if err != nil {
					t.Fatal(err)
				}
				if !tt.want(got) {
					t.Errorf("got %v", got)
				}
			})
		}
	}
}

func TestExtractRefusesInWords(t *testing.T) {
	s := newSite(t, http.NotFound)
	tests := []struct {
		name   string
		target *fetcherv1.ExtractTarget
		body   []byte
		reason string
	}{
		{"nothing", &fetcherv1.ExtractTarget{}, nil, ReasonEmpty},
		{"an archive", &fetcherv1.ExtractTarget{}, []byte("PK\x03\x04"), ReasonUnsupportedType},
		{"a broken PDF", &fetcherv1.ExtractTarget{}, []byte("%PDF-1.7\n"), ReasonDamaged},
		{"too much", &fetcherv1.ExtractTarget{}, bytes.Repeat([]byte("x"), maxDocumentBytes+1), ReasonDocumentTooLarge},
		{"an address that is none", &fetcherv1.ExtractTarget{Url: "http://["}, []byte("x"), "INVALID_ARGUMENT"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := s.extract(tt.target, tt.body, 1<<20)
			if status.Code(err) != codes.InvalidArgument || rpcerr.Reason(err) != tt.reason {
				t.Errorf("%v (reason %s), want %s", err, rpcerr.Reason(err), tt.reason)
			}
		})
	}
	stream, err := s.fetcher.Extract(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	_ = stream.Send(&fetcherv1.ExtractRequest{Part: &fetcherv1.ExtractRequest_Data{Data: []byte("x")}})
	if _, err := stream.CloseAndRecv(); status.Code(err) != codes.InvalidArgument {
		t.Errorf("bytes before the target: %v", err)
	}
}

func TestTooManyDocumentsAtOnceAreToldToComeBack(t *testing.T) {
	s := newSite(t, http.NotFound)
	for range maxDocuments {
		s.service.documents <- struct{}{}
	}
	_, err := s.extract(&fetcherv1.ExtractTarget{}, []byte("x"), 1)
	if _, ok := rpcerr.RetryDelay(err); status.Code(err) != codes.ResourceExhausted || !ok {
		t.Error(err)
	}
	for range maxDocuments {
		<-s.service.documents
	}
}

// TestDocumentsAreReadAlikeHoweverTheyCome compares a fetch, Extract, ReadFile and
// InspectPage of the same bytes.
func TestDocumentsAreReadAlikeHoweverTheyCome(t *testing.T) {
	feed := []byte(`<rss><channel><title>Harbour</title><item><title>Boats</title><description>They float.</description></item></channel></rss>`)
	for name, body := range map[string][]byte{
		"crew.xlsx": workbook(t), "feed.xml": feed, "data.csv": []byte("a;b\n1;2\n"), "page.html": []byte(newsPage), "plain.txt": []byte("one\ntwo\n"),
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/octet-stream")
				_, _ = w.Write(body)
			})
			for _, extract := range []string{"text", "markdown", "tables", "structured", "full_text"} {
				fetched := s.fetch(t, &fetcherv1.FetchRequest{Url: s.url + "/" + name, ExtractType: extract})
				sent, err := s.extract(&fetcherv1.ExtractTarget{Name: name, ContentType: "application/octet-stream", Url: s.url + "/" + name, ExtractType: extract}, body, 1<<20)
				if err != nil {
					t.Fatal(err)
				}
				read, err := ReadFile(context.Background(), FileInput{Content: bytes.NewReader(body), Name: name, Base: s.url + "/" + name, ExtractType: extract})
				if err != nil {
					t.Fatal(err)
				}
				if !proto.Equal(fetched.GetContent(), sent.GetContent()) || !proto.Equal(fetched.GetContent(), read.GetContent()) {
					t.Errorf("%s:\nfetched %v\nsent    %v\nread    %v", extract, fetched.GetContent(), sent.GetContent(), read.GetContent())
				}
				if fetched.GetTotalChars() != sent.GetTotalChars() || fetched.GetMetadata().GetDetectedType() != read.GetMetadata().GetDetectedType() {
					t.Errorf("%s: %v, %v", extract, fetched.GetMetadata(), read.GetMetadata())
				}
			}
		})
	}
}

func TestReadFileRefusesWhatItCannotRead(t *testing.T) {
	broken := io.MultiReader(strings.NewReader("x"), errReader{})
	for name, in := range map[string]FileInput{
		"no absolute address": {Content: strings.NewReader("x"), Base: "a/b"},
		"unexpected EOF":      {Content: broken},
		"more than 32 MiB":    {Content: io.LimitReader(zeros{}, 1<<30)},
	} {
		if _, err := ReadFile(context.Background(), in); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
