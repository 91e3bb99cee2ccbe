package filetool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/filetype"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/topk"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

const (
	defaultK        = 3
	maxK            = 100
	maxPatternChars = 1000
)

type countIn struct {
	Path    string `json:"path,omitempty" jsonschema:"path of a file in the workspace; give this or text"`
	Text    string `json:"text,omitempty" jsonschema:"the text itself; give this or path"`
	K       int    `json:"k,omitempty" jsonschema:"how many lines to answer"`
	Pattern string `json:"pattern,omitempty" jsonschema:"regular expression (RE2): only lines that match it are counted"`
}

// countOut is the result; Markdown is what the model reads.
type countOut struct {
	Success  bool      `json:"success"`
	Path     string    `json:"path,omitempty"`
	Markdown string    `json:"markdown"`
	Top      []topLine `json:"top"`
	Lines    int64     `json:"lines"`
	Counted  int64     `json:"counted"`
	Distinct int       `json:"distinct"`
	Exact    bool      `json:"exact"`
	Notes    []string  `json:"notes,omitempty"`
}

type topLine struct {
	Line  string `json:"line"`
	Count int64  `json:"count"`
}

func (t Tools) addCount(p *toolkit.Provider) error {
	return toolkit.Add(p, toolkit.Tool{
		Name: "count_top_k", Title: "Count the most frequent lines", Version: "1",
		Description: "Counts the lines of a log or another text and answers the k most frequent ones as \"line (xN)\", most frequent first. " +
			"Lines are trimmed and blank ones skipped; pattern selects lines. The text is not loaded into the conversation, however long it is. " +
			"Give a path in the workspace, or a short text itself. It cannot read results by result_id.",
		Effect: toolkit.EffectPure, Sink: toolkit.SinkRead, OutputUntrusted: true, Timeout: countTimeout,
		ResultKind: toolkit.KindLog,
		Schema: func(s *jsonschema.Schema) {
			pathSchema(s.Properties["path"])
			s.Properties["text"].MaxLength = jsonschema.Ptr(maxContentChars)
			s.Properties["pattern"].MaxLength = jsonschema.Ptr(maxPatternChars)
			bound(s.Properties["k"], 1, maxK, defaultK)
		},
	}, t.count)
}

func (t Tools) count(ctx context.Context, call *toolkit.Call, in countIn) (toolkit.Result, error) {
	if (in.Path == "") == (in.Text == "") {
		return toolkit.Fail(toolkit.ReasonInvalidArguments, "give either path or text, and not both", false), nil
	}
	q := topk.Query{K: in.K}
	if in.Pattern != "" {
		pattern, err := regexp.Compile(in.Pattern)
		if err != nil {
			return toolkit.Fail("INVALID_PATTERN", "pattern is no regular expression of RE2: "+strings.ToValidUTF8(err.Error(), "\uFFFD"), false), nil
		}
		q.Pattern = pattern
	}
	if in.Path == "" {
		got, err := t.tally(ctx, strings.NewReader(in.Text), int64(len(in.Text)), q)
		if err != nil {
			return failed(err)
		}
		return answered(countAnswer("", got, call.Changes))
	}
	at, err := find(ctx, call, in.Path)
	if err != nil {
		return failed(err)
	}
	f, err := t.open(at)
	if err != nil {
		return failed(err)
	}
	defer f.Close()
	// Text with some zero bytes, as logs have after a copy, is binary by its head.
	if !filetype.IsText(f.Entry.MIME) && f.Entry.MIME != filetype.Binary {
		return toolkit.Fail("NOT_TEXT", fmt.Sprintf("%q is not text but %s: unpack or convert it first", f.Entry.Path, f.Entry.MIME), false), nil
	}
	q.Progress = func(read int64) { call.Progress("counting lines", float64(read), float64(f.Entry.Size)) }
	got, err := t.tally(ctx, f.File, f.Entry.Size, q)
	if err != nil {
		return failed(err)
	}
	return answered(countAnswer(f.Entry.Path, got, call.Changes), origin(at))
}

func (t Tools) tally(ctx context.Context, text io.ReaderAt, size int64, q topk.Query) (topk.Answer, error) {
	select {
	case t.counts <- struct{}{}:
		defer func() { <-t.counts }()
	case <-ctx.Done():
		return topk.Answer{}, ctx.Err()
	}
	got, err := topk.Count(ctx, text, size, q)
	if errors.Is(err, topk.ErrChanged) {
		err = rpcerr.New(codes.Aborted, "FILE_CHANGED", "the file was changed while it was counted: try again").WithCause(err)
	}
	return got, err
}

func countAnswer(path string, a topk.Answer, notes []string) countOut {
	out := countOut{
		Success: true, Path: path, Top: []topLine{}, Lines: a.Read, Counted: a.Counted, Distinct: a.Distinct, Exact: a.Exact,
		Notes: slices.Clone(notes),
	}
	var text strings.Builder
	for _, l := range a.Lines {
		out.Top = append(out.Top, topLine{l.Text, l.Count})
		fmt.Fprintf(&text, "%s (x%d)\n", l.Text, l.Count)
	}
	if len(a.Lines) == 0 {
		text.WriteString("No lines were counted.\n")
	}
	if !a.Exact {
		missed := int64(0)
		for _, l := range a.Lines {
			missed = max(missed, l.Missed)
		}
		out.Notes = append(out.Notes, fmt.Sprintf(
			"There are more than %d different lines: each count may be up to %d too low. Select lines with pattern for exact counts.", topk.MaxDistinct, missed))
	}
	if a.Cut > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d lines are longer than %d bytes: only their beginnings were compared.", a.Cut, topk.MaxLineBytes))
	}
	for _, note := range out.Notes {
		text.WriteString("Note: " + note + "\n")
	}
	out.Markdown = strings.TrimSuffix(text.String(), "\n")
	return out
}
