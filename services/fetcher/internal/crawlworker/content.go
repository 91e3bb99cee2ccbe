package crawlworker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/storable"
)

// withContent puts what was read of a page into its message, or where it is too
// long into the blob store; nil when ctx ended meanwhile.
func (w *Worker) withContent(ctx context.Context, b *taskmanagerv1.CrawlBatch, t *taskmanagerv1.CrawlTarget, out *taskmanagerv1.FetchedPage, page Page) *taskmanagerv1.FetchedPage {
	content := page.Content
	mendContent(content)
	size, cut := fit(content, maxContentBytes)
	out.Truncated = page.Truncated || cut
	if size <= maxInlineBytes {
		out.Content = content
		return out
	}
	ref, err := w.spill(ctx, b.GetTaskId(), content)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		w.Logger.WarnContext(ctx, "a crawled page cannot be stored", "task_id", b.GetTaskId(), "error", err)
		lost := failed(t, ReasonContentNotStored, "the page came, but its content could not be stored; it is tried again", true)
		lost.DurationMs = out.GetDurationMs()
		return lost
	}
	out.ContentRef = ref
	return out
}

// spill writes content to the blob store. The same content has the same key.
func (w *Worker) spill(ctx context.Context, task string, content *fetcherv1.PageContent) (*taskmanagerv1.ContentRef, error) {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(content)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	ref := &taskmanagerv1.ContentRef{Sha256: hex.EncodeToString(sum[:]), SizeBytes: int32(len(raw))}
	ref.Key = "crawl/" + task + "/" + ref.Sha256
	wait := backoff{first: w.Times.Backoff, most: w.Times.MaxBackoff}
	for try := 1; ; try++ {
		if err = w.Blobs.Put(ctx, ref.Key, raw, "application/protobuf"); err == nil {
			return ref, nil
		}
		if try == putTries || !wait.sleep(ctx, err) {
			return nil, err
		}
	}
}

// fit cuts content from its end until it is at most so many bytes as a message,
// and says how large it is.
func fit(c *fetcherv1.PageContent, limit int) (size int, cut bool) {
	size = proto.Size(c)
	for size > limit {
		over, before := size-limit, size
		text := longText(c)
		switch s := c.GetStructured(); {
		case text != nil:
			*text = firstBytes(*text, max(len(*text)-over, 0))
		case len(c.GetTables()) > 0:
			c.Tables = dropRows(c.Tables, over)
		case len(c.GetFeed().GetItems()) > 0:
			c.Feed.Items = dropLast(c.Feed.Items, over)
		case len(c.GetLinks()) > 0:
			c.Links = dropLast(c.Links, over)
		case len(c.GetImages()) > 0:
			c.Images = dropLast(c.Images, over)
		case len(s.GetParagraphs()) > 0:
			s.Paragraphs = s.Paragraphs[:len(s.Paragraphs)-lastTexts(s.Paragraphs, over)]
		case len(s.GetHeadings()) > 0:
			s.Headings = dropLast(s.Headings, over)
		case s != nil && (len(s.GetMeta()) > 0 || s.GetTitle() != ""):
			s.Meta, s.Title = nil, firstBytes(s.Title, maxTitleBytes)
		}
		if size = proto.Size(c); size == before {
			break // nothing is left to cut
		}
		cut = true
	}
	return size, cut
}

// longText is the text of a page of those extract types that have one; nil when
// there is none.
func longText(c *fetcherv1.PageContent) *string {
	if c == nil {
		return nil
	}
	for _, text := range []*string{&c.Text, &c.Markdown, &c.Raw, &c.FullText} {
		if *text != "" {
			return text
		}
	}
	return nil
}

// dropRows drops at least bytes of rows from the end of the last table, or the
// table where it has not as many.
func dropRows(tables []*fetcherv1.Table, bytes int) []*fetcherv1.Table {
	last := tables[len(tables)-1]
	if last.Rows = dropLast(last.Rows, bytes); len(last.Rows) == 0 {
		return tables[:len(tables)-1]
	}
	return tables
}

// dropLast drops at least bytes from the end of a list of messages.
func dropLast[M proto.Message](list []M, bytes int) []M {
	n := len(list)
	for n > 0 && bytes > 0 {
		n--
		bytes -= proto.Size(list[n])
	}
	return list[:n]
}

// lastTexts is how many texts at the end have so many bytes.
func lastTexts(list []string, bytes int) int {
	n := 0
	for n < len(list) && bytes > 0 {
		n++
		bytes -= len(list[len(list)-n])
	}
	return n
}

// firstBytes is at most limit bytes of s, in whole characters.
func firstBytes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// mendMetadata makes what pages and servers say about themselves storable, and
// a title one.
func mendMetadata(m *fetcherv1.PageMetadata) {
	m.Title = storable.Text(firstBytes(m.Title, maxTitleBytes))
	for _, s := range []*string{&m.ContentType, &m.DetectedType, &m.FinalUrl, &m.Charset, &m.Origin, &m.PageType} {
		*s = storable.Text(*s)
	}
	for _, s := range []*string{&m.Byline, &m.Published, &m.Modified, &m.Language, &m.Canonical, &m.SiteName, &m.Description} {
		*s = storable.Text(firstBytes(*s, maxAboutBytes))
	}
	m.Properties = mendProperties(m.Properties)
	for i, s := range m.Redirects {
		m.Redirects[i] = storable.Text(s)
	}
}

// mendContent makes the texts of a page storable.
func mendContent(c *fetcherv1.PageContent) {
	for _, text := range []*string{&c.Text, &c.Markdown, &c.Raw, &c.FullText} {
		*text = storable.Text(*text)
	}
	mendTables(c.GetTables())
	mendFeed(c.GetFeed())
	for _, l := range c.GetLinks() {
		l.Text, l.Url = storable.Text(l.Text), storable.Text(l.Url)
	}
	for _, i := range c.GetImages() {
		i.Alt, i.Src = storable.Text(i.Alt), storable.Text(i.Src)
	}
	s := c.GetStructured()
	if s == nil {
		return
	}
	s.Title = storable.Text(s.Title)
	for k, v := range s.GetMeta() {
		if !storable.Is(k) || !storable.Is(v) {
			delete(s.Meta, k)
			s.Meta[storable.Text(k)] = storable.Text(v)
		}
	}
	for _, h := range s.GetHeadings() {
		h.Text = storable.Text(h.Text)
	}
	for i, p := range s.GetParagraphs() {
		s.Paragraphs[i] = storable.Text(p)
	}
}

// mendProperties are the first properties by name, each as long as may be.
func mendProperties(all map[string]string) map[string]string {
	if len(all) == 0 {
		return nil
	}
	out := make(map[string]string, min(len(all), maxProperties))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if len(out) == maxProperties {
			break
		}
		out[storable.Text(firstBytes(name, maxAboutBytes))] = storable.Text(firstBytes(all[name], maxAboutBytes))
	}
	return out
}

// mendTables makes the texts of tables storable.
func mendTables(tables []*fetcherv1.Table) {
	for _, t := range tables {
		t.Caption = storable.Text(t.Caption)
		for _, r := range t.GetRows() {
			for i, cell := range r.GetCells() {
				r.Cells[i] = storable.Text(cell)
			}
		}
	}
}

// mendFeed makes the texts of a feed storable; there may be none.
func mendFeed(f *fetcherv1.Feed) {
	if f == nil {
		return
	}
	for _, s := range []*string{&f.Title, &f.Description, &f.Url, &f.Language, &f.Updated} {
		*s = storable.Text(*s)
	}
	for _, i := range f.GetItems() {
		for _, s := range []*string{&i.Title, &i.Url, &i.Id, &i.Author, &i.Published, &i.Updated, &i.Summary} {
			*s = storable.Text(*s)
		}
		for n, category := range i.GetCategories() {
			i.Categories[n] = storable.Text(category)
		}
	}
}
