package main

import (
	"cmp"
	"encoding/json"
	"fmt"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/terminal"
)

// maxSources is how many addresses are shown of one result.
const maxSources = 5

// toolSummary is what a person sees of a tool's result.
type toolSummary struct {
	ok bool
	// text goes on after the tool's name and time.
	text    string
	sources []string
}

// toolContent is what the results of tools have in common: see the contracts of
// web_search and fetch_page.
type toolContent struct {
	Success *bool  `json:"success"`
	Outcome string `json:"outcome"`
	URL     string `json:"url"`
	Results []struct {
		URL string `json:"url"`
	} `json:"results"`
	Metadata struct {
		FinalURL   string `json:"final_url"`
		StatusCode int    `json:"status_code"`
	} `json:"metadata"`
	Error struct {
		Reason  string `json:"reason"`
		Message string `json:"message"`
	} `json:"error"`
}

// summarize reads a result as far as it is of a known form.
func summarize(r *orchestratorv1.ToolResult) toolSummary {
	var c toolContent
	// Of an unknown form, only what the event says of it is shown.
	known := json.Unmarshal([]byte(r.GetContent()), &c) == nil
	s := toolSummary{ok: !r.GetIsError() && (!known || c.Success == nil || *c.Success)}
	switch {
	case !s.ok:
		s.text = cmp.Or(c.Error.Message, c.Error.Reason)
		if !known {
			s.text = r.GetContent()
		}
		return s
	case workWords(r) != "":
		s.text = workWords(r)
	case c.Results != nil:
		s.text = plural(len(c.Results), "result")
		if len(c.Results) == 0 && c.Outcome != "" {
			s.text = "no results: " + c.Outcome
		}
		for _, result := range c.Results[:min(len(c.Results), maxSources)] {
			s.sources = append(s.sources, result.URL)
		}
	case c.URL != "" || c.Metadata.FinalURL != "":
		s.sources = []string{cmp.Or(c.Metadata.FinalURL, c.URL)}
		if c.Metadata.StatusCode != 0 {
			s.text = fmt.Sprintf("HTTP %d", c.Metadata.StatusCode)
		}
	}
	if r.GetTruncated() {
		s.text += " (cut)"
	}
	return s
}

// workWords are the words for a crawl task or a program; empty for anything else.
func workWords(r *orchestratorv1.ToolResult) string {
	var c struct {
		TaskID   string `json:"task_id"`
		Status   string `json:"status"`
		Progress *int   `json:"progress"`
		Total    int    `json:"total"`
		ExitCode *int   `json:"exit_code"`
		Stdout   string `json:"stdout"`
	}
	switch err := json.Unmarshal([]byte(r.GetContent()), &c); {
	case err != nil || c.Status == "":
		return ""
	case c.ExitCode != nil:
		words := fmt.Sprintf("exit code %d", *c.ExitCode)
		if out := terminal.Line(c.Stdout, maxCell); out != "" {
			words += ", " + out
		}
		return words
	case c.Progress != nil:
		return fmt.Sprintf("%s, %d of %s", c.Status, *c.Progress, plural(c.Total, "page"))
	case c.TaskID != "":
		return "task " + c.TaskID + " is " + c.Status
	}
	return ""
}

// callLine is a call on one line.
func callLine(name, arguments string) string {
	const maxArguments = 120
	return terminal.Line(name, maxCell) + " " + terminal.Line(arguments, maxArguments)
}
