package taskmanager

import (
	"context"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/task"
)

const (
	// inlineResults and inlineErrors stand in a task itself.
	inlineResults = 20
	inlineErrors  = 50
	// inlineChars of text stand there of each page.
	inlineChars = 10_000
	// slow is how long a host may make a task wait before that is worth a word.
	slow = 2 * time.Second
	// noWorker is how long nobody must have asked for work.
	noWorker = 15 * time.Second
)

// wire is a task without its results.
func (s *Service) wire(t schema.Task) *pb.CrawlTask {
	out := &pb.CrawlTask{
		Id: t.ID, Status: t.Status, Outcome: t.Outcome, Progress: int32(t.Progress()), Total: int32(t.Total), Percent: percent(t),
		Succeeded: int32(t.Succeeded), Failed: int32(t.Failed), Skipped: int32(t.Skipped), ExtractType: t.ExtractType,
		Parallel: int32(t.Parallel), ErrorMessage: t.ErrorMessage, LastSeq: int32(t.LastSeq),
		CreatedAt: stamp(t.CreatedAt), StartedAt: stamp(t.StartedAt), CompletedAt: stamp(t.CompletedAt),
	}
	if t.CompletedAt > 0 {
		out.ExpiresAt = stamp(t.CompletedAt + s.cfg.KeepResults.Milliseconds())
	}
	return out
}

func percent(t schema.Task) int32 {
	if t.Total == 0 {
		return 100
	}
	return int32(100 * t.Progress() / t.Total)
}

func stamp(ms int64) *timestamppb.Timestamp {
	if ms == 0 {
		return nil
	}
	return timestamppb.New(schema.Time(ms))
}

// get is a task of a user with its first results.
func (s *Service) get(ctx context.Context, userID, taskID string) (*pb.CrawlTask, error) {
	t, err := s.tasks.Get(ctx, userID, taskID)
	if err != nil {
		return nil, shaped(err, taskID)
	}
	out := s.wire(t)
	if out.StallReason, err = s.stall(ctx, t); err != nil {
		return nil, shaped(err, taskID)
	}
	came, err := s.tasks.First(ctx, taskID, true, inlineResults)
	if err != nil {
		return nil, shaped(err, taskID)
	}
	for _, r := range came {
		data, err := s.data(ctx, r, inlineChars)
		if err != nil {
			return nil, err
		}
		out.Results = append(out.Results, &pb.CrawlPage{Url: r.URL, Data: data})
	}
	out.ResultsTruncated = t.Succeeded > len(came)
	missed, err := s.tasks.First(ctx, taskID, false, inlineErrors)
	if err != nil {
		return nil, shaped(err, taskID)
	}
	for _, r := range missed {
		out.Errors = append(out.Errors, &pb.CrawlError{Url: r.URL, Error: r.Error, Reason: r.Reason})
	}
	return out, nil
}

// cut shortens the text of a page to a number of characters, and tells whether it
// did. Content is of one extract type, so one of the texts is there.
func cut(c *fetcherv1.PageContent, chars int) bool {
	if c == nil {
		return false
	}
	short := false
	for _, text := range []*string{&c.Text, &c.Markdown, &c.Raw, &c.FullText} {
		if first := firstChars(*text, chars); len(first) < len(*text) {
			*text, short = first, true
		}
	}
	left := chars
	for i, t := range c.GetTables() {
		for j, row := range t.GetRows() {
			for _, cell := range row.GetCells() {
				left -= utf8.RuneCountInString(cell)
			}
			if left < 0 {
				if t.Rows, c.Tables = t.Rows[:j], c.Tables[:i+1]; j == 0 {
					c.Tables = c.Tables[:i]
				}
				return true
			}
		}
	}
	for i, item := range c.GetFeed().GetItems() {
		if left -= utf8.RuneCountInString(item.GetTitle()) + utf8.RuneCountInString(item.GetSummary()); left < 0 {
			c.Feed.Items = c.Feed.Items[:i]
			return true
		}
	}
	if p := c.GetStructured(); p != nil {
		left := chars
		for i, text := range p.Paragraphs {
			if left -= utf8.RuneCountInString(text); left < 0 {
				p.Paragraphs, short = p.Paragraphs[:i], true
				break
			}
		}
	}
	return short
}

func firstChars(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// stall says why nothing moves; empty when something does, or nothing is to.
func (s *Service) stall(ctx context.Context, t schema.Task) (string, error) {
	switch {
	case t.Ended():
		return "", nil
	case s.db.Full():
		return "the disk of the task manager is full", nil
	}
	if t.Status == schema.StatusPending {
		n, err := s.tasks.Running(ctx, t.UserID)
		if err != nil {
			return "", err
		}
		if n >= s.cfg.RunningPerUser {
			return count(n, "of your tasks runs", "of your tasks run") + " already; this one waits for its turn", nil
		}
	}
	hosts, now, err := s.tasks.Hosts(ctx, t.ID)
	if err != nil {
		return "", err
	}
	return s.stalled(hosts, now), nil
}

// stalled is the reason of the host that will be the first to move.
func (s *Service) stalled(hosts []task.Host, now int64) string {
	reason, first := "", int64(0)
	for _, h := range hosts {
		at := max(h.NextAt, h.NotBefore)
		words := ""
		switch {
		case h.Mine:
			return ""
		case h.Leased:
			at, words = now, "another task is at "+h.Name
		case at > now:
			words = waiting(h, at, now)
		case h.Unchecked == h.Open:
			words = "the robots.txt of " + h.Name + " is being asked for"
		case s.db.Driver() == store.DriverSQLite && s.dispatch.Idle() > noWorker:
			words = "no crawl worker asks for work: the fetcher does not run, or cannot reach the task manager"
		}
		if first == 0 || at < first {
			reason, first = words, at
		}
	}
	return reason
}

func waiting(h task.Host, at, now int64) string {
	if at-now < slow.Milliseconds() && h.Reason == "" {
		return ""
	}
	why := h.Reason
	if why == "" {
		why = "what failed there is tried again"
		if h.NextAt >= h.NotBefore {
			why = "it is asked no more often than it bears"
		}
	}
	return "waiting for " + h.Name + " until " + schema.Time(at).Format(time.RFC3339) + ": " + why
}

// data is what was read of a page, with its text cut to a number of characters; 0
// for all of it.
func (s *Service) data(ctx context.Context, r schema.Result, chars int) (*pb.CrawlData, error) {
	d := &pb.CrawlData{}
	if err := proto.Unmarshal(r.Data, d); err != nil {
		return nil, err
	}
	if r.ContentKey != "" {
		content, err := s.content(ctx, r)
		if err != nil {
			return nil, err
		}
		d.Content = content
	}
	if chars > 0 && d.Content != nil && cut(d.Content, chars) {
		d.Truncated = true
	}
	return d, nil
}
