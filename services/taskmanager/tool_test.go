package taskmanager

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/pagecontent"
)

// callStream collects what a tool call sends.
type callStream struct {
	grpc.ServerStream
	ctx    context.Context
	result *toolv1.Result
}

func (s *callStream) Context() context.Context { return s.ctx }

func (s *callStream) Send(m *toolv1.CallToolResponse) error {
	if r := m.GetResult(); r != nil {
		s.result = r
	}
	return nil
}

// call calls a tool as a user.
func (w *world) call(user, name, key, arguments string) (*toolv1.Result, error) {
	ctx, cancel := context.WithTimeout(as(user), time.Minute)
	defer cancel()
	s := &callStream{ctx: ctx}
	err := w.svc.tools.CallTool(&toolv1.CallToolRequest{Name: name, EffectKey: key, ArgumentsJson: arguments}, s)
	return s.result, err
}

// use calls a tool that must answer.
func (w *world) use(name, key, arguments string, out any) *toolv1.Result {
	w.t.Helper()
	res, err := w.call("ann", name, key, arguments)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(res.ContentJson), out); err != nil {
		w.t.Fatalf("%s: %v", res.ContentJson, err)
	}
	return res
}

func TestTheToolsSayWhatTheyAre(t *testing.T) {
	w := newWorld(t)
	list, err := w.svc.tools.ListTools(t.Context(), &toolv1.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tool := range list.Tools {
		line := tool.Name + " " + tool.Effect + " " + tool.Sink
		if tool.Polling {
			line += " polling"
		}
		if tool.OutputUntrusted {
			line += " untrusted"
		}
		got = append(got, line+" "+tool.DefaultTimeout.AsDuration().String())
	}
	want := []string{"cancel_crawl_task pure read 15s", "crawl_batch keyed read 15s", "query_crawl_task pure read polling untrusted 1m0s"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestAModelCrawlsAsksAndReads(t *testing.T) {
	w := newWorld(t)
	var made crawlOutput
	w.use(ToolCrawl, "k1", `{"urls":["https://a.example/1","https://a.example/2","nothing"],"parallel":99}`, &made)
	if !made.Success || made.Status != "pending" || made.Total != 3 || len(made.Notes) != 1 || !strings.Contains(made.Message, made.TaskID) {
		t.Errorf("%+v", made)
	}
	if got := w.get("ann", made.TaskID); got.Parallel != 5 || got.ExtractType != "text" {
		t.Errorf("%v", got)
	}
	var again crawlOutput
	w.use(ToolCrawl, "k1", `{"urls":["https://a.example/1","https://a.example/2","nothing"],"parallel":99}`, &again)
	if again.TaskID != made.TaskID {
		t.Error("one key makes two tasks")
	}
	_, err := w.call("ann", ToolCrawl, "k1", `{"urls":["https://b.example/"]}`)
	wantError(t, err, codes.Aborted, "KEY_REUSED")

	var task toolTask
	w.use(ToolQuery, "", `{"task_id":"`+made.TaskID+`"}`, &task)
	if task.Status != "pending" || task.Progress != 1 || len(task.Errors) != 1 || task.Errors[0].Reason != "URL_REFUSED" {
		t.Errorf("%+v", task)
	}
	done := make(chan toolTask)
	go func() {
		var task toolTask
		res := w.use(ToolQuery, "", `{"task_id":"`+made.TaskID+`","wait_seconds":50}`, &task)
		if !slices.Equal(res.Origins, []string{"crawl_batch:a.example"}) {
			t.Errorf("origins %v", res.Origins)
		}
		done <- task
	}()
	w.crawl("ann", made.TaskID)
	task = <-done
	if task.Status != "completed" || task.Outcome != "partial" || len(task.Results) != 2 || task.CompletedAt == "" {
		t.Errorf("%+v", task)
	}
	if p := task.Results[0]; p.Data.Content["text"] != "The text of "+p.URL || p.Data.Metadata.StatusCode != 200 {
		t.Errorf("%+v", p)
	}
	var ended crawlOutput
	w.use(ToolCancel, "", `{"task_id":"`+made.TaskID+`"}`, &ended)
	if ended.Status != "completed" || !strings.Contains(ended.Message, "ended before") {
		t.Errorf("%+v", ended)
	}
}

func TestAModelCancels(t *testing.T) {
	w := newWorld(t)
	id := w.create("ann", pages("a.example", 2)...)
	var out crawlOutput
	w.use(ToolCancel, "", `{"task_id":"`+id+`"}`, &out)
	if out.Status != "cancelled" || !strings.Contains(out.Message, "0 of 2") {
		t.Errorf("%+v", out)
	}
}

func TestWhatAModelGetsWrongIsToldInWords(t *testing.T) {
	w := newWorld(t)
	foreign := w.create("bob", "https://b.example/")
	urls, _ := json.Marshal(pages("a.example", 51))
	for name, tc := range map[string]struct{ tool, args, words string }{
		"51 addresses":    {ToolCrawl, `{"urls":` + string(urls) + `}`, "50"},
		"no address":      {ToolCrawl, `{"urls":[]}`, "urls"},
		"no urls":         {ToolCrawl, `{}`, "urls"},
		"a bad extract":   {ToolCrawl, `{"urls":["https://a.example/"],"extract_type":"pdf"}`, "structured"},
		"a foreign task":  {ToolQuery, `{"task_id":"` + foreign + `"}`, "task"},
		"an unknown task": {ToolQuery, `{"task_id":"task_x","wait_seconds":50}`, "task"},
		"a foreign end":   {ToolCancel, `{"task_id":"` + foreign + `"}`, "task"},
	} {
		res, err := w.call("ann", tc.tool, "key "+name, tc.args)
		if err != nil || !res.IsError || !strings.Contains(res.ContentJson, tc.words) || !strings.Contains(res.ContentJson, `"success":false`) {
			t.Errorf("%s: %v, %v", name, res, err)
		}
	}
	if got := w.get("bob", foreign); got.Status == "cancelled" {
		t.Error("a foreign task was cancelled")
	}
	ctx := worker()
	s := &callStream{ctx: ctx}
	if err := w.svc.tools.CallTool(&toolv1.CallToolRequest{Name: ToolQuery, ArgumentsJson: `{"task_id":"x"}`}, s); err == nil {
		t.Error("a service has tasks of its own")
	}
}

func TestWhatIsExtractedIsUnderItsName(t *testing.T) {
	for _, extract := range pagecontent.Types() {
		if extract == pagecontent.Metadata || extract == pagecontent.Feed { // which stands beside it, and which may be none
			continue
		}
		d := toolDataOf(extract, nil)
		if _, ok := d.Content[extract]; !ok || len(d.Content) != 1 {
			t.Errorf("%s: %v", extract, d.Content)
		}
		text, err := json.Marshal(d)
		if err != nil || strings.Contains(string(text), "null") {
			t.Errorf("%s: %s, %v", extract, text, err)
		}
	}
}
