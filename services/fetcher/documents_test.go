package fetcher

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
)

// pdfWith is a PDF with a page for each text, without the table of offsets, which
// readers make again.
func pdfWith(pages ...string) string {
	var b strings.Builder
	b.WriteString("%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n3 0 obj\n<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>\nendobj\n")
	var kids strings.Builder
	for i, text := range pages {
		content := "BT /F1 12 Tf 72 770 Td (" + text + ") Tj ET"
		fmt.Fprintf(&b, "%d 0 obj\n<< /Length %d >>\nstream\n%s\nendstream\nendobj\n", 10+2*i, len(content), content)
		fmt.Fprintf(&b, "%d 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >> >>\nendobj\n", 11+2*i, 10+2*i)
		fmt.Fprintf(&kids, "%d 0 R ", 11+2*i)
	}
	fmt.Fprintf(&b, "2 0 obj\n<< /Type /Pages /Kids [%s] /Count %d >>\nendobj\ntrailer\n<< /Root 1 0 R >>\n", kids.String(), len(pages))
	return b.String()
}

func TestDocumentsAreToldByTheirBytes(t *testing.T) {
	pdf := pdfWith("High water", "Low water")
	tests := []struct {
		name, path, contentType, disposition, body string
		text, detected, warning                    string
	}{
		{"a PDF that is served as HTML (firecrawl#306)", "/x", "text/html; charset=utf-8", "", pdf, "[Page 1]\n\nHigh water\n\n[Page 2]\n\nLow water", "application/pdf", "content_type"},
		{"an address in .pdf that is a page (firecrawl#839)", "/paper.pdf", "text/html", "", "<p>Sign in first.</p>", "Sign in first.", "text/html", "content_type"},
		{"a page that is served as a PDF (firecrawl PR 3014)", "/paper.pdf", "application/pdf", "", "<!doctype html><p>Sign in first.</p>", "Sign in first.", "text/html", "content_type"},
		{"a PDF with bytes that are no UTF-8 (firecrawl#1669)", "/x", "application/pdf", "", strings.Replace(pdf, "High water", "H\xf6chststand", 1), "[Page 1]\n\nHöchststand\n\n[Page 2]\n\nLow water", "application/pdf", ""},
		{"a PDF behind a line of junk", "/x", "application/octet-stream", "", "junk\n" + pdf, "[Page 1]\n\nHigh water\n\n[Page 2]\n\nLow water", "application/pdf", ""},
		{"CSV by the name that the server gives", "/download?id=7", "application/octet-stream", `attachment; filename="crew.csv"`, "a;b\n1;2\n", "a;b\n1;2\n", "text/csv", "delimiter"},
		{"an error page in place of a PDF", "/missing.pdf", "text/html", "", "<p>There is no such paper.</p>", "There is no such paper.", "text/html", "status"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", tt.contentType)
				if tt.disposition != "" {
					w.Header().Set("Content-Disposition", tt.disposition)
				}
				if r.URL.Path == "/missing.pdf" {
					w.WriteHeader(http.StatusNotFound)
				}
				_, _ = w.Write([]byte(tt.body))
			})
			got := s.fetch(t, &fetcherv1.FetchRequest{Url: s.url + tt.path})
			if got.GetContent().GetText() != tt.text || got.GetMetadata().GetDetectedType() != tt.detected {
				t.Errorf("text %q of %s", got.GetContent().GetText(), got.GetMetadata().GetDetectedType())
			}
			if tt.warning == "" && len(got.GetWarnings()) > 0 || tt.warning != "" && !warned(got.GetWarnings(), tt.warning) {
				t.Errorf("warnings %q", got.GetWarnings())
			}
		})
	}
}

// TestBytesAreNeverGivenOutAsText is zoharbabin/web-researcher-mcp#206.
func TestBytesAreNeverGivenOutAsText(t *testing.T) {
	garbage := bytes.Repeat([]byte{0, 1, 2, 0xfe, 0xff, 'a'}, 1000)
	for _, contentType := range []string{"", "text/html", "text/plain", "application/pdf", "application/octet-stream"} {
		s := newSite(t, serveBody(contentType, string(garbage)))
		st := s.refuse(t, s.url+"/x", codes.InvalidArgument, map[bool]string{true: ReasonDamaged, false: ReasonUnsupportedType}[contentType == "application/pdf"])
		if strings.Contains(st.Message(), "\x00") {
			t.Errorf("message %q", st.Message())
		}
	}
}

func TestALongDocumentIsReadInParts(t *testing.T) {
	var pages []string
	for i := range 40 {
		pages = append(pages, fmt.Sprintf("This is the text of page number %d.", i+1))
	}
	s := newSite(t, serveBody("application/pdf", pdfWith(pages...)))
	for _, extract := range []string{"text", "markdown"} {
		whole := s.fetch(t, &fetcherv1.FetchRequest{ExtractType: extract})
		most := int32(300)
		var joined string
		for offset := int32(0); ; {
			part := s.fetch(t, &fetcherv1.FetchRequest{ExtractType: extract, Offset: offset, MaxChars: &most})
			joined += part.GetContent().GetText() + part.GetContent().GetMarkdown()
			if !part.GetTruncated() {
				break
			}
			offset = part.GetNextOffset()
		}
		if want := whole.GetContent().GetText() + whole.GetContent().GetMarkdown(); joined != want || !strings.Contains(joined, pages[39]) || whole.GetMetadata().GetPages() != 40 {
			t.Errorf("%s: %d characters of %d, %d pages", extract, len(joined), len(want), whole.GetMetadata().GetPages())
		}
	}
}

func TestTablesAreReadInPartsWithTheirHeader(t *testing.T) {
	var b strings.Builder
	b.WriteString("name,number\n")
	for i := range 100 {
		fmt.Fprintf(&b, "somebody,%d\n", i)
	}
	s := newSite(t, serveBody("text/csv", b.String()))
	most, rows, offset := int32(200), 0, int32(0)
	for {
		part := s.fetch(t, &fetcherv1.FetchRequest{ExtractType: "tables", Offset: offset, MaxChars: &most})
		table := part.GetContent().GetTables()[0]
		if h := table.GetRows()[0].GetCells(); !table.GetHeader() || h[0] != "name" || table.GetTotalRows() != 101 {
			t.Fatalf("table %v", table)
		}
		for _, row := range table.GetRows()[1:] {
			if want := fmt.Sprint(rows); row.GetCells()[1] != want {
				t.Fatalf("row %v, want %s", row.GetCells(), want)
			}
			rows++
		}
		if !part.GetTruncated() {
			break
		}
		offset = part.GetNextOffset()
	}
	if rows != 100 {
		t.Errorf("%d rows", rows)
	}
}

func TestARowOverTheLimitIsCutAndSaid(t *testing.T) {
	s := newSite(t, serveBody("text/csv", "a,b\n"+strings.Repeat("x", 1000)+",2\n"))
	most := int32(100)
	got := s.fetch(t, &fetcherv1.FetchRequest{ExtractType: "tables", Offset: 1, MaxChars: &most})
	row := got.GetContent().GetTables()[0].GetRows()[1].GetCells()
	if !strings.HasSuffix(row[0], "x…") || len(row[0]) > 60 || row[1] != "2" || !warned(got.GetWarnings(), "cells") || got.GetTruncated() {
		t.Errorf("row %q, warnings %q", row, got.GetWarnings())
	}
}

func TestEntriesOfAFeedAreReadInParts(t *testing.T) {
	var b strings.Builder
	b.WriteString("<rss><channel><title>Harbour</title>")
	for i := range 30 {
		fmt.Fprintf(&b, "<item><title>Entry %d</title><description>%s</description></item>", i, strings.Repeat("word ", 20))
	}
	s := newSite(t, serveBody("application/rss+xml", b.String()+"</channel></rss>"))
	most, seen, offset := int32(500), 0, int32(0)
	for {
		part := s.fetch(t, &fetcherv1.FetchRequest{ExtractType: "feed", Offset: offset, MaxChars: &most})
		for _, item := range part.GetContent().GetFeed().GetItems() {
			if want := fmt.Sprintf("Entry %d", seen); item.GetTitle() != want {
				t.Fatalf("%q, want %q", item.GetTitle(), want)
			}
			seen++
		}
		if !part.GetTruncated() {
			break
		}
		offset = part.GetNextOffset()
	}
	if seen != 30 {
		t.Errorf("%d entries", seen)
	}
}

func TestTablesOfAPageAreRows(t *testing.T) {
	s := newSite(t, serveBody("text/html", `<!doctype html><title>Tides</title><article><h1>Tides of the harbour</h1><p>High water comes twice a day, and this is when it comes on each day of the week.</p>
<table><caption>High water</caption><tr><th>Day</th><th>Time</th></tr><tr><td>Monday</td><td>12:00</td></tr><tr><td>Tuesday</td><td>12:50</td></tr></table></article>`))
	got := s.fetch(t, &fetcherv1.FetchRequest{ExtractType: "tables"})
	tables := got.GetContent().GetTables()
	if len(tables) != 1 || tables[0].GetCaption() != "High water" || !tables[0].GetHeader() || len(tables[0].GetRows()) != 3 || tables[0].GetRows()[2].GetCells()[1] != "12:50" {
		t.Errorf("tables %v", tables)
	}
	other := newSite(t, serveBody("text/html", newsPage))
	if none := other.fetch(t, &fetcherv1.FetchRequest{Url: other.url, ExtractType: "tables"}); len(none.GetContent().GetTables()) != 0 || !warned(none.GetWarnings(), "rows of tables") {
		t.Errorf("tables %v, warnings %q", none.GetContent().GetTables(), none.GetWarnings())
	}
}
