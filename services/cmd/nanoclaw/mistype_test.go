package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestMistypes makes slips of the hand: each gets one line with the right word,
// exit code 2, no usage and nothing on stdout.
func TestMistypes(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"a command", []string{"sarch", "hello"}, `"nanoclaw" has no command "sarch", did you mean search?`},
		{"a command below another", []string{"tools", "lst"}, `"nanoclaw tools" has no command "lst", did you mean list?`},
		{"a command like no other", []string{"mcp"}, `"nanoclaw" has no command "mcp"; it has chat, config, crawl, demo, doctor, fetch, inspect, models, run, sandbox, search, serve, tasks, token, tools, usage, version`},
		{"no command", nil, `say what to do: "nanoclaw chat|config|crawl|demo|doctor|fetch|inspect|models|run|sandbox|search|serve|tasks|token|tools|usage|version"`},
		{"no command below another", []string{"token"}, `say what to do: "nanoclaw token create|list|revoke"`},
		{"a word after config", []string{"config", "chek"}, `"nanoclaw config" has no command "chek", did you mean check?`},
		{"a flag", []string{"search", "hello", "--max-result", "3"}, `"nanoclaw search" has no flag --max-result, did you mean --max-results?`},
		{"a flag like no other", []string{"version", "--colour"}, `"nanoclaw version" has no flag --colour; "nanoclaw version --help" lists them`},
		{"a flag without its value", []string{"search", "hello", "--max-results"}, `--max-results needs a value: a whole number`},
		{"a word for a number", []string{"search", "hello", "--max-results", "many"}, `--max-results: "many" is not a whole number`},
		{"a word for a duration", []string{"search", "hello", "--timeout", "soon"}, `--timeout: "soon" is not a duration such as 30s or 2m`},
		{"less than no time", []string{"crawl", "http://example.com", "--timeout", "-5s"}, `--timeout: -5s is less than no time; give a duration such as 30s or 2m`},
		{"a program with less than no time", []string{"run", "-c", "1", "--timeout", "-1s"}, `--timeout: -1s is less than no time; give a duration such as 30s or 2m`},
		{"none of the words", []string{"fetch", "http://example.com", "--format", "link"}, `--format: "link" is none of text, markdown, links, images, structured, metadata, tables, feed, html, raw, full_text, did you mean links?`},
		{"nothing to search", []string{"search"}, `something is missing: nanoclaw search QUERY [flags]`},
		{"two words without quotes", []string{"search", "two", "words"}, `"words" is too much: nanoclaw search QUERY [flags] (put quotes around text with spaces)`},
		{"domains that contradict", []string{"search", "hello", "--allow", "a.example", "--block", "b.example"}, `--allowed-domain and --blocked-domain exclude each other: give one of them`},
		{"a mode of searching", []string{"search", "hello", "--mode", "fussed"}, `--mode: "fussed" is none of single, fused, did you mean fused?`},
		{"an age of results", []string{"search", "hello", "--freshness", "weak"}, `--freshness: "weak" is none of day, week, month, year, did you mean week?; or give days such as 2025-01-01..2025-03-31`},
		{"a mode in capitals", []string{"search", "hello", "--mode", "FUSED"}, `--mode: "FUSED" is none of single, fused, did you mean fused?`},
		{"a choice without its value", []string{"search", "hello", "--cache"}, `--cache needs a value: use, refresh, off`},
		{"a query that begins like a flag", []string{"search", "-foo"}, `"nanoclaw search" has no flag -f; what begins with - and is no flag goes behind a --: nanoclaw search -- -foo`},
		{"a query that is no text", []string{"search", "tea\xff"}, `"tea\xff" is no valid UTF-8; give plain text`},
		{"a language that is no text", []string{"search", "tea", "--language", "\xff"}, `--language: "\xff" is no valid UTF-8; give plain text`},
		{"an engine of no name", []string{"search", "tea", "--provider", ""}, `--provider needs a value: some text`},
		{"an engine of no name behind another", []string{"search", "tea", "--provider", "bing,"}, `--provider needs a value: some text`},
		{"an allowed domain of no name", []string{"search", "tea", "--allowed-domain", ""}, `--allowed-domain needs a value: some text`},
		{"a blocked domain of no name", []string{"search", "tea", "--block", " "}, `--blocked-domain needs a value: some text`},
		{"an empty language", []string{"search", "tea", "--language", ""}, `--language needs a value: some text`},
		{"an empty region", []string{"search", "tea", "--region", ""}, `--region needs a value: some text`},
		{"no day", []string{"search", "tea", "--freshness", "2025-02-30.."}, `--freshness: "2025-02-30" is no day; give days such as 2025-01-01..2025-03-31`},
		{"a dot too many", []string{"search", "tea", "--freshness", "2025-01-01...2025-02-01"}, `--freshness: ".2025-02-01" is no day; give days such as 2025-01-01..2025-03-31`},
		{"days of nothing", []string{"search", "tea", "--freshness", ".."}, `--freshness: ".." is none of day, week, month, year; or give days such as 2025-01-01..2025-03-31`},
		{"a word about the cache", []string{"search", "hello", "--cache", "fresh"}, `--cache: "fresh" is none of use, refresh, off, did you mean refresh?`},
		{"a word after the list of engines", []string{"search", "providers", "bing"}, `"bing" is too much: nanoclaw search providers [flags] (put quotes around text with spaces)`},
		{"outputs that contradict", []string{"chat", "hello", "--json", "--jsonl"}, `--json and --jsonl exclude each other: give one of them`},
		{"an empty message", []string{"chat", " "}, `the message is empty: nanoclaw chat [MESSAGE] [flags]`},
		{"arguments that are no JSON", []string{"tools", "invoke", "web_search", `{"query": }`}, `arguments: not valid JSON: invalid character '}' looking for beginning of value at byte 11; give an object such as '{"url":"https://example.com"}'`},
		{"arguments that are no object", []string{"tools", "invoke", "web_search", `["a"]`}, `arguments: must be a JSON object such as '{"url":"https://example.com"}'`},
		{"a crawl of nothing", []string{"crawl"}, `there is no address to fetch: name some, or a file with one a line with --file`},
		{"a form of results", []string{"crawl", "http://example.com", "--format", "json"}, `--format: "json" is none of jsonl, csv, md, did you mean jsonl?`},
		{"forms that contradict", []string{"crawl", "http://example.com", "--json", "--format", "csv"}, `--json and --format exclude each other: give one of them`},
		{"a list that is not there", []string{"crawl", "--file", "nowhere.txt"}, `--file nowhere.txt: no such file or directory`},
		{"a status", []string{"tasks", "list", "--status", "runing"}, `--status: "runing" is none of pending, running, paused, completed, failed, cancelled, did you mean running?`},
		{"a task without its id", []string{"tasks", "watch"}, `something is missing: nanoclaw tasks watch ID [flags]`},
		{"a language", []string{"run", "-c", "1", "--language", "pyton"}, `--language: "pyton" is none of python, javascript, bash, did you mean python?`},
		{"no program", []string{"run"}, `there is no program: name a file, - for stdin, or give it with -c`},
		{"two programs", []string{"run", "-c", "1", "main.py"}, `a program is named and one is given with -c: give one of them`},
		{"an empty program", []string{"run", "-c", " "}, `the program is empty`},
		{"a program that is not there", []string{"run", "nowhere.py"}, `the program, nowhere.py, cannot be read: no such file or directory`},
		{"stdin twice", []string{"run", "-", "--stdin", "-"}, `stdin cannot be both the program and its input: put one of them into a file`},
		{"a check of the sandbox", []string{"sandbox", "chek"}, `"nanoclaw sandbox" has no command "chek", did you mean check?`},
		{"a level of the log", []string{"serve", "--log-level", "loud"}, `command line: log.level: "loud" is none of debug, info, warn, error`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			c := &cli{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr}
			if code := c.execute(tt.args); code != exitUsage {
				t.Errorf("exit code %d, want %d", code, exitUsage)
			}
			if got, want := stderr.String(), "nanoclaw: "+tt.want+"\n"; got != want {
				t.Errorf("got  %swant %s", got, want)
			}
			if stdout.Len() > 0 {
				t.Errorf("on stdout: %s", stdout.String())
			}
		})
	}
}

func TestHelpIsNoMistake(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"help", "chat"}, {"tools", "--help"}} {
		var stdout, stderr bytes.Buffer
		c := &cli{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr}
		if code := c.execute(args); code != exitOK || !strings.Contains(stdout.String(), "Usage:") || stderr.Len() > 0 {
			t.Errorf("%v: exit code %d, %d bytes of help, stderr %q", args, code, stdout.Len(), stderr.String())
		}
	}
}
