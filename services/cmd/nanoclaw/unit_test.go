package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/follow"
	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/transcript"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
)

func TestExitCodes(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want int
	}{
		{"no error", nil, exitOK},
		{"anything", errors.New("x"), exitFailure},
		{"a mistake in the command line", fmt.Errorf("wrapped: %w", usagef("x")), exitUsage},
		{"an argument that the server refuses", status.Error(codes.InvalidArgument, "x"), exitUsage},
		{"not found", status.Error(codes.NotFound, "x"), exitNotFound},
		{"no token", status.Error(codes.Unauthenticated, "x"), exitDenied},
		{"a private address", rpcerr.New(codes.InvalidArgument, "PRIVATE_ADDRESS", "x").GRPCStatus().Err(), exitDenied},
		{"a host that does not exist", rpcerr.New(codes.InvalidArgument, "HOST_NOT_FOUND", "x").GRPCStatus().Err(), exitNotFound},
		{"a page that is too large", rpcerr.New(codes.InvalidArgument, "TOO_LARGE", "x").GRPCStatus().Err(), exitFailure},
		{"too late at the server", status.Error(codes.DeadlineExceeded, "x"), exitTimeout},
		{"too late here", context.DeadlineExceeded, exitTimeout},
		{"interrupted", fmt.Errorf("%w: %w", errInterrupted, follow.ErrLeft), exitInterrupted},
		{"unavailable", status.Error(codes.Unavailable, "x"), exitFailure},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := exitCode(tt.err); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestReportSaysWhatTheDetailsKnow(t *testing.T) {
	var out bytes.Buffer
	report(&out, rpcerr.InvalidArgument("query", "too short").WithField("max_results", "at most 10").GRPCStatus().Err())
	report(&out, &exitError{code: exitFailure})
	report(&out, errors.Join(errors.New("one"), errors.New("two")))
	for _, text := range []string{"It is busy. Try again.", "It is away. Try again in a moment.", "It is full.", "no room"} {
		report(&out, rpcerr.New(codes.Unavailable, "BUSY", "%s", text).WithRetry(time.Second).GRPCStatus().Err())
	}
	want := "nanoclaw: query: too short; max_results: at most 10\nnanoclaw: one\nnanoclaw: two\n" +
		"nanoclaw: It is busy. Try again in 1s.\nnanoclaw: It is away. Try again in 1s.\n" +
		"nanoclaw: It is full. Try again in 1s.\nnanoclaw: no room; try again in 1s\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestDidYouMean(t *testing.T) {
	words := []string{"chat", "config", "fetch", "search", "serve", "token", "tools"}
	for word, want := range map[string]string{
		"serach": ", did you mean search?", "conf": ", did you mean config?", "tols": ", did you mean tools?",
		"crawl": "", "x": "", "": "", "fetch_page": "",
	} {
		if got := didYouMean("", word, words, ""); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}

func TestTheModelsOfTheThreeLinesLoad(t *testing.T) {
	lines := strings.Split(noModel, "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines, want 3", len(lines))
	}
	for _, line := range lines {
		_, text, found := strings.Cut(line, "put into config.yml  ")
		if !found {
			t.Fatalf("no configuration in %q", line)
		}
		file := filepath.Join(t.TempDir(), "config.yml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, _, err := suite.Load(suite.LoadOptions{File: file, FileRequired: true, Env: []string{"OPENAI_API_KEY=sk-1", "GLM_API_KEY=k-2"}})
		if err != nil || len(cfg.Models) != 1 {
			t.Errorf("%s: %d models, %v", text, len(cfg.Models), err)
		}
	}
}

func TestSummarize(t *testing.T) {
	tests := []struct {
		name, content string
		isError       bool
		want          string
	}{
		{"search results", `{"success":true,"outcome":"OK","results":[{"url":"http://a.example/"},{"url":"http://b.example/"}]}`, false, "true 2 results [http://a.example/ http://b.example/]"},
		{"an empty search says why", `{"success":true,"outcome":"EMPTY_VERIFIED","results":[]}`, false, "true no results: EMPTY_VERIFIED []"},
		{"a page after redirects", `{"success":true,"url":"http://a.example/","metadata":{"final_url":"http://b.example/","status_code":404}}`, false, "true HTTP 404 [http://b.example/]"},
		{"a failure in the tool's terms", `{"success":false,"error":{"reason":"BLOCKED","message":"the engine blocks"}}`, true, "false the engine blocks []"},
		{"a failure without words", `{"success":false,"error":{"reason":"BLOCKED"}}`, false, "false BLOCKED []"},
		{"a crawl that begins", `{"task_id":"task_1","status":"pending","message":"7 addresses"}`, false, "true task task_1 is pending []"},
		{"a crawl that goes on", `{"id":"task_1","status":"running","progress":0,"total":7,"results":[]}`, false, "true running, 0 of 7 pages []"},
		{"a program", `{"success":true,"status":"ok","exit_code":0,"stdout":"42\n43\n"}`, false, "true exit code 0, 42 43 []"},
		{"a program that says nothing", `{"success":true,"status":"nonzero_exit","exit_code":3,"stdout":""}`, false, "true exit code 3 []"},
		{"a status of somebody else", `{"status":200,"results":[{"url":"http://a.example/"}]}`, false, "true 1 result [http://a.example/]"},
		{"an unknown form", `[1,2]`, false, "true  []"},
		{"no JSON", `it broke`, true, "false it broke []"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := summarize(&pb.ToolResult{Content: tt.content, IsError: tt.isError})
			if got := fmt.Sprintf("%v %s %v", s.ok, s.text, s.sources); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestLiveText shows on a terminal what a broken stream does to a text.
func TestLiveText(t *testing.T) {
	piece := func(round int32, offset int, text string) *pb.RunEvent {
		return &pb.RunEvent{Event: &pb.RunEvent_Message{Message: &pb.TextPiece{Round: round, Offset: int32(offset), Content: text}}}
	}
	thought := func(text string) *pb.RunEvent {
		return &pb.RunEvent{Event: &pb.RunEvent_Thinking{Thinking: &pb.TextPiece{Round: 1, Content: text}}}
	}
	restart := &pb.RunEvent{Event: &pb.RunEvent_RoundRestarted{RoundRestarted: &pb.RoundRestarted{Round: 1}}}
	tests := []struct {
		name   string
		events []*pb.RunEvent
		want   string
	}{
		{"pieces follow each other", []*pb.RunEvent{piece(1, 0, "Hel"), piece(1, 3, "lo")}, "Hello"},
		{"what is shown is not shown again", []*pb.RunEvent{piece(1, 0, "Hello"), piece(1, 0, "Hel"), piece(1, 0, "Hello you")}, "Hello you"},
		{"another text begins on a line of its own", []*pb.RunEvent{piece(1, 0, "Hello"), piece(1, 0, "Bye")}, "Hello\n! the text changed; again from its beginning:\nBye"},
		{"a restarted round says so", []*pb.RunEvent{piece(1, 0, "Hello"), restart, piece(1, 0, "Bye")}, "Hello\n! the server begins this round again\nBye"},
		{"a restart before any text is not worth a word", []*pb.RunEvent{restart, piece(1, 0, "Bye")}, "Bye"},
		{"thoughts and text stand on lines of their own", []*pb.RunEvent{thought("Hm."), piece(1, 0, "Hello"), thought("Hm. So")}, "Hm.\nHello\n So"},
		{"no control of the terminal", []*pb.RunEvent{piece(1, 0, "a\x1b[2Jb")}, "a[2Jb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var screen bytes.Buffer
			v := &humanView{answer: &screen, steps: &screen, live: true, thinking: true, shown: map[textKey]string{}}
			var tr transcript.Transcript
			for _, ev := range tt.events {
				if err := tr.Apply(ev); err != nil {
					t.Fatal(err)
				}
				v.seen(ev, &tr)
			}
			if screen.String() != tt.want {
				t.Errorf("got %q, want %q", screen.String(), tt.want)
			}
		})
	}
}

func TestAFailedRunLeavesNoAnswerInThePipe(t *testing.T) {
	var answer, steps bytes.Buffer
	v := &humanView{answer: &answer, steps: &steps, shown: map[textKey]string{}}
	tr := &transcript.Transcript{Rounds: []*transcript.Round{{Number: 1, Text: "half of"}}, Failed: &pb.RunError{}}
	if err := v.ended(tr); err != nil {
		t.Fatal(err)
	}
	if answer.Len() != 0 || steps.String() != "half of\n" {
		t.Errorf("answer %q, steps %q", answer.String(), steps.String())
	}
}

func TestEventLine(t *testing.T) {
	line, err := eventLine(3, &pb.RunEvent{Seq: 3, Event: &pb.RunEvent_Message{Message: &pb.TextPiece{Content: "<a>", Round: 1}}})
	if want := `{"id":3,"event":"message","data":{"content":"<a>","round":1,"offset":0}}` + "\n"; err != nil || string(line) != want {
		t.Errorf("got %s (%v), want %s", line, err, want)
	}
	if line, err := eventLine(3, &pb.RunEvent{Seq: 3}); err != nil || len(line) != 0 {
		t.Errorf("got %q, %v", line, err)
	}
}
