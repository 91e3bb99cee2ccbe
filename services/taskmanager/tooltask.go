package taskmanager

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/pagecontent"
)

// toolTask is a task as a model sees it: what it decides by comes first, for a
// long result is cut at its end.
type toolTask struct {
	Success          bool        `json:"success"`
	ID               string      `json:"id"`
	Status           string      `json:"status"`
	Outcome          string      `json:"outcome,omitempty"`
	Progress         int32       `json:"progress"`
	Total            int32       `json:"total"`
	Percent          int32       `json:"percent"`
	Succeeded        int32       `json:"succeeded"`
	Failed           int32       `json:"failed"`
	Skipped          int32       `json:"skipped"`
	StallReason      string      `json:"stall_reason,omitempty"`
	ErrorMessage     string      `json:"error_message,omitempty"`
	Notes            []string    `json:"notes,omitempty"`
	CreatedAt        string      `json:"created_at"`
	CompletedAt      string      `json:"completed_at,omitempty"`
	Errors           []toolError `json:"errors"`
	Results          []toolPage  `json:"results"`
	ResultsTruncated bool        `json:"results_truncated"`
}

type toolError struct {
	URL    string `json:"url"`
	Error  string `json:"error"`
	Reason string `json:"reason"`
}

type toolPage struct {
	URL  string   `json:"url"`
	Data toolData `json:"data"`
}

type toolData struct {
	Content   map[string]any `json:"content"`
	Metadata  toolMetadata   `json:"metadata"`
	Truncated bool           `json:"truncated,omitempty"`
}

type toolMetadata struct {
	Title       string `json:"title"`
	StatusCode  int32  `json:"status_code"`
	ContentType string `json:"content_type"`
	FinalURL    string `json:"final_url"`
	pagecontent.About
}

func toolTaskOf(t *pb.CrawlTask, notes []string) toolTask {
	out := toolTask{
		Success: true, ID: t.Id, Status: t.Status, Outcome: t.Outcome, Progress: t.Progress, Total: t.Total, Percent: t.Percent,
		Succeeded: t.Succeeded, Failed: t.Failed, Skipped: t.Skipped, StallReason: t.StallReason, ErrorMessage: t.ErrorMessage, Notes: notes,
		CreatedAt: rfc3339(t.CreatedAt), CompletedAt: rfc3339(t.CompletedAt),
		Errors: []toolError{}, Results: []toolPage{}, ResultsTruncated: t.ResultsTruncated,
	}
	for _, e := range t.Errors {
		out.Errors = append(out.Errors, toolError{e.Url, e.Error, e.Reason})
	}
	for _, p := range t.Results {
		out.Results = append(out.Results, toolPage{p.Url, toolDataOf(t.ExtractType, p.Data)})
	}
	return out
}

// toolDataOf has the one entry of the content that the extract type names.
func toolDataOf(extract string, d *pb.CrawlData) toolData {
	m := d.GetMetadata()
	return toolData{
		Content: pagecontent.ForModel(extract, d.GetContent()), Truncated: d.GetTruncated(),
		Metadata: toolMetadata{m.GetTitle(), m.GetStatusCode(), m.GetContentType(), m.GetFinalUrl(), pagecontent.AboutOf(extract, m)},
	}
}

func rfc3339(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().Format(time.RFC3339)
}
