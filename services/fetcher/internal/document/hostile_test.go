package document

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/xuri/excelize/v2"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/contenttype"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/sampletest"
)

// bomb is an Office file one of whose parts unpacks to size bytes.
func bomb(t *testing.T, part, head, filler, tail string, size int, more ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.Create(part)
	if err != nil {
		t.Fatal(err)
	}
	block := []byte(strings.Repeat(filler, 1<<20/len(filler)))
	write := func(p []byte) {
		if _, err := f.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	write([]byte(head))
	for n := 0; n < size; n += len(block) {
		write(block)
	}
	write([]byte(tail))
	for i := 0; i < len(more); i += 2 {
		f, err := w.Create(more[i])
		if err != nil {
			t.Fatal(err)
		}
		write := func(p []byte) {
			if _, err := f.Write(p); err != nil {
				t.Fatal(err)
			}
		}
		write([]byte(more[i+1]))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// promise is an archive of a part that says that it unpacks to size bytes.
func promise(t *testing.T, part string, size uint64) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	if _, err := w.CreateRaw(&zip.FileHeader{Name: part, Method: zip.Deflate, UncompressedSize64: size}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestDocumentsThatCannotBeReadSayWhy(t *testing.T) {
	word := wordOf(t, para("", "text"))
	pdf := pdfOf("one", "two")
	encrypted := strings.Replace(pdf, "/Root", "/Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -44 /O <"+strings.Repeat("41", 32)+"> /U <"+strings.Repeat("42", 32)+"> >> /ID [<00> <00>] /Root", 1)
	entities := `<!DOCTYPE w [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>`
	tests := []struct {
		name, body, mediaType string
		want                  Reason
		words                 string
	}{
		{"a workbook that promises too much", promise(t, "xl/workbook.xml", maxUnzipped+1), contenttype.XLSX, TooLarge, "256 MiB"},
		{"slides that promise too much", promise(t, slidesPart, 1<<60), contenttype.PPTX, TooLarge, "256 MiB"},
		{"an empty PDF", "", contenttype.PDF, Empty, "empty"},
		{"a PDF of nothing but its mark", "%PDF-1.7\n", contenttype.PDF, Damaged, "damaged"},
		{"a PDF of junk", "%PDF-1.7\n" + strings.Repeat("\x00\xff junk", 1000), contenttype.PDF, Damaged, "damaged"},
		{"a PDF behind a password", encrypted, contenttype.PDF, Encrypted, "password"},
		{"a Word file that broke off", word[:len(word)/2], contenttype.DOCX, Damaged, "broke off"},
		{"a Word file without text inside", zipOf(t, "[Content_Types].xml", "<Types/>"), contenttype.DOCX, Damaged, "no text inside"},
		{"a Word file of broken XML", wordOf(t, "<w:p><w:r>") + "", contenttype.DOCX, Damaged, "document.xml"},
		{"a Word file with entities", zipOf(t, "word/document.xml", entities+wordHead+para("", "&b;")+wordTail), contenttype.DOCX, Damaged, "document.xml"},
		{"a Word file that nests deeply", zipOf(t, "word/document.xml", wordHead+strings.Repeat("<w:p>", 100_000)), contenttype.DOCX, Damaged, "document.xml"},
		{"a Word file in another encoding", zipOf(t, "word/document.xml", `<?xml version="1.0" encoding="ebcdic"?><w/>`), contenttype.DOCX, Damaged, "document.xml"},
		{"a workbook without sheets", zipOf(t, "[Content_Types].xml", "<Types/>", "xl/workbook.xml", "<workbook/>"), contenttype.XLSX, Damaged, ""},
		{"a workbook that is none", "PK\x03\x04 no more", contenttype.XLSX, Damaged, "damaged"},
		{"slides without a list", zipOf(t, "ppt/slides/slide1.xml", "<p:sld/>"), contenttype.PPTX, Damaged, "no slides inside"},
		{"a picture without a size", "\x89PNG\r\n\x1a\n", "image/png", Damaged, "how large"},
		{"an Office file behind a password", "x", contenttype.Encrypted, Encrypted, "password"},
		{"a Word file before 2007", "x", contenttype.DOC, Unsupported, ".docx"},
		{"a workbook before 2007", "x", contenttype.XLS, Unsupported, ".xlsx"},
		{"slides before 2007", "x", contenttype.PPT, Unsupported, ".pptx"},
		{"an archive", "x", contenttype.Zip, Unsupported, "unpack"},
		{"a film", "x", "video/mp4", Unsupported, "video/mp4"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := refusal(t, request(tt.body, tt.mediaType))
			if e.Reason != tt.want || !strings.Contains(e.Words, tt.words) || e.Type != tt.mediaType {
				t.Errorf("%s of %s: %s (%v)", e.Reason, e.Type, e.Words, e.Err)
			}
		})
	}
}

func TestBombsAreRefusedOrCut(t *testing.T) {
	const size = 80 << 20
	tests := []struct {
		name      string
		body      func() string
		mediaType string
	}{
		{"white space in a Word file", func() string { return bomb(t, "word/document.xml", wordHead, " ", wordTail, size) }, contenttype.DOCX},
		{"an endless paragraph of a Word file", func() string {
			return bomb(t, "word/document.xml", wordHead+"<w:p><w:r><w:t>", "aaaaaaaa", "</w:t></w:r></w:p>"+wordTail, size)
		}, contenttype.DOCX},
		{"empty runs of a Word file", func() string {
			return bomb(t, "word/document.xml", wordHead+"<w:p>", "<w:r><w:br/></w:r>", "</w:p>"+wordTail, size)
		}, contenttype.DOCX},
		{"empty cells of a Word file", func() string {
			return bomb(t, "word/document.xml", wordHead+"<w:tbl><w:tr>", "<w:tc/>", "</w:tr></w:tbl>"+wordTail, size)
		}, contenttype.DOCX},
		{"a slide", func() string {
			return bomb(t, "ppt/slides/slide1.xml", "<p:sld>", "<p:sp/>", "</p:sld>", size, "ppt/presentation.xml", `<p:presentation><p:sldId r:id="rId1"/></p:presentation>`,
				"ppt/_rels/presentation.xml.rels", `<R><Relationship Id="rId1" Type="slide" Target="slides/slide1.xml"/></R>`)
		}, contenttype.PPTX},
		{"a workbook that promises 300 MiB", func() string { return promise(t, "xl/sharedStrings.xml", 300<<20) }, contenttype.XLSX},
	}
	if !sampletest.Full() { // the others take seconds each
		tests = tests[len(tests)-1:]
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := tt.body()
			begin := time.Now()
			peak := watchHeap(t)
			d, err := newReader(t).Read(context.Background(), request(body, tt.mediaType))
			var e *Error
			if err != nil && !errors.As(err, &e) {
				t.Error(err)
			}
			if d != nil && !d.Cut && len(d.Text()) > budget {
				t.Errorf("%d bytes of text", len(d.Text()))
			}
			if got := peak(); got > 512<<20 {
				t.Errorf("%d MiB of memory", got>>20)
			}
			t.Logf("%v, %v", time.Since(begin).Round(time.Millisecond), err)
		})
	}
}

// watchHeap tells how far the heap grew. It looks often enough for what takes
// seconds.
func watchHeap(t *testing.T) (peak func() uint64) {
	t.Helper()
	runtime.GC()
	done, result := make(chan struct{}), make(chan uint64)
	go func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		var most uint64
		var m runtime.MemStats
		for {
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
			select {
			case <-tick.C:
			case <-done:
				result <- most
				return
			}
		}
	}()
	return func() uint64 { close(done); return <-result }
}

func TestAWorkbookWithACellAtItsEndIsRead(t *testing.T) {
	book := bookOf(t, func(f *excelize.File) error {
		return errors.Join(f.SetCellValue("Sheet1", "A1", "first"), f.SetCellValue("Sheet1", "XFD1000000", "last"))
	})
	d := read(t, request(book, contenttype.XLSX))
	if !strings.Contains(d.Text(), "first") || !d.Cut && !strings.Contains(d.Text(), "last") {
		t.Errorf("%d bytes, cut %t, %q", len(d.Text()), d.Cut, d.Warnings)
	}
}

func TestAPDFWhosePagesLoopEnds(t *testing.T) {
	var p pdfFile
	p.object("<< /Type /Pages /Kids [ 1 0 R 1 0 R 2 0 R ] /Count 1000000 >>")
	p.object("<< /Type /Page /Parent 1 0 R /MediaBox [0 0 1 1] /Contents 3 0 R >>")
	p.object("<< /Length 5 0 R >>\nstream\nBT ET\nendstream")
	root := p.object("<< /Type /Catalog /Pages 1 0 R >>")
	d, err := newReader(t).Read(context.Background(), request(p.write(root), contenttype.PDF))
	var e *Error
	if err != nil && !errors.As(err, &e) {
		t.Error(err)
	}
	if d != nil && d.Text() != "" {
		t.Errorf("text %q", d.Text())
	}
}

func TestAPDFOfPicturesSaysSo(t *testing.T) {
	var p pdfFile
	d := read(t, request(p.pages("", "", "0 0 10 10 re f"), contenttype.PDF))
	if d.Text() != "" || d.Pages != 2 || !warned(d, "no_text") {
		t.Errorf("%d pages, %q, %q", d.Pages, d.Text(), d.Warnings)
	}
}

func TestPagesThatTakeTooLongAreToldOf(t *testing.T) {
	tests := []struct {
		name   string
		add    func(*pdfPages)
		reason Reason
		warn   string
	}{
		{"none in time", func(p *pdfPages) { p.add(1, "", context.DeadlineExceeded) }, TooLarge, "time_limit"},
		{"some in time", func(p *pdfPages) { p.add(1, "text", nil); p.add(2, "", context.DeadlineExceeded) }, "", "time_limit"},
		{"none readable", func(p *pdfPages) { p.add(1, "", errTooDeep); p.add(2, "", errTooDeep) }, Damaged, ""},
		{"some readable", func(p *pdfPages) { p.add(1, "", errTooDeep); p.add(2, "text", nil) }, "", "damaged"},
		{"more text than is read", func(p *pdfPages) { p.add(1, strings.Repeat("x", 200), nil) }, "", "page_limit"},
		{"pages that are pictures", func(p *pdfPages) { p.add(1, "text", nil); p.add(2, " \n", nil) }, "", "no_text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := &Document{Pages: 2}
			p := pdfPages{doc: d, w: writer{doc: d, left: 100}}
			tt.add(&p)
			err := p.end()
			var e *Error
			if errors.As(err, &e) != (tt.reason != "") || e != nil && e.Reason != tt.reason || tt.warn != "" && !warned(d, tt.warn) {
				t.Errorf("%v, warnings %q", err, d.Warnings)
			}
		})
	}
}

func TestReadingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := newReader(t).Read(ctx, request(pdfOf("x"), contenttype.PDF)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestHeavyDocumentsWaitForTheirTurn(t *testing.T) {
	r := newReader(t)
	for range heavyAtOnce {
		r.turns <- struct{}{}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.Read(ctx, request(wordOf(t, para("", "x")), contenttype.DOCX)); !errors.Is(err, context.Canceled) {
		t.Errorf("a heavy one did not wait: %v", err)
	}
	if d, err := r.Read(context.Background(), request("a,b\n", contenttype.CSV)); err != nil || d.Text() != "a,b\n" {
		t.Errorf("a light one waited: %v", err)
	}
	for range heavyAtOnce {
		<-r.turns
	}
}

func TestTheTimeInWhichThePDFReaderIsMadeReadyIsNotTheDocuments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReader(t)
		boots := 0
		r.pdf.boot = func(ctx context.Context, c wazero.CompilationCache) (*machine, error) {
			boots++
			time.Sleep(2 * maxTime)
			return boot(ctx, c)
		}
		ctx, cancel := context.WithTimeout(t.Context(), maxTime)
		defer cancel()
		if _, err := r.Read(ctx, request(pdfOf("x"), contenttype.PDF)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller who waits no longer: %v", err)
		}
		// What that one began goes on.
		if d, err := r.Read(t.Context(), request(pdfOf("x"), contenttype.PDF)); err != nil || d.Text() != "x" || boots != 1 {
			t.Errorf("%v, booted %d times", err, boots)
		}
	})
}

func TestThePDFReaderIsMadeReadyAgainAfterAFailure(t *testing.T) {
	r := newReader(t)
	tries := 0
	r.pdf.boot = func(ctx context.Context, c wazero.CompilationCache) (*machine, error) {
		if tries++; tries == 1 {
			return nil, errors.New("no memory")
		}
		return boot(ctx, c)
	}
	var e *Error
	if _, err := r.Read(t.Context(), request(pdfOf("x"), contenttype.PDF)); err == nil || errors.As(err, &e) {
		t.Errorf("the document is blamed: %v", err)
	}
	if d, err := r.Read(t.Context(), request(pdfOf("x"), contenttype.PDF)); err != nil || d.Text() != "x" {
		t.Errorf("second try: %v", err)
	}
}
