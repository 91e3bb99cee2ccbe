package live

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
)

func TestReadersAtDifferentPacesGetTheSameText(t *testing.T) {
	r := new(Hub).Open("run", 0)
	eager, lazy := newPage(t), newPage(t)
	a, b := r.Follow(0), r.Follow(0)
	for _, s := range []string{"Hé", "llo", ", ", "wörld"} {
		r.Write(1, s)
		eager.next(a)
	}
	lazy.next(b)
	want := "Héllo, wörld"
	for name, p := range map[string]*page{"eager": eager, "lazy": lazy} {
		if got := p.texts[textKey{answer, 1}]; got != want {
			t.Errorf("%s reader has %q, want %q", name, got, want)
		}
	}
}

func TestOnlyReadersThatMissedTextLiveGetItsLoggedForm(t *testing.T) {
	r := new(Hub).Open("run", 0)
	live, part, none := r.Follow(0), r.Follow(0), r.Follow(0)
	pages := map[*Reader]*page{live: newPage(t), part: newPage(t), none: newPage(t)}
	r.Think(1, "hm")
	r.Write(1, "one ")
	pages[live].next(live)
	pages[part].next(part)
	r.Write(1, "two")
	pages[live].next(live)
	r.Publish([]*pb.RunEvent{thought(1, 1, "hm"), said(2, 1, "one two"), spent(3, 1)})
	late := r.Follow(0)
	pages[late] = newPage(t)

	for name, c := range map[string]struct {
		reader *Reader
		want   string
	}{
		"took it all live": {live, "3"},
		"took a part live": {part, "2 3"},
		"took nothing":     {none, "1 2 3"},
		"came afterwards":  {late, "1 2 3"},
	} {
		var seqs []string
		for _, e := range pages[c.reader].next(c.reader) {
			seqs = append(seqs, fmt.Sprint(e.Seq))
		}
		if got := strings.Join(seqs, " "); got != c.want {
			t.Errorf("a reader that %s got the logged events %s, want %s", name, got, c.want)
		}
		if got := pages[c.reader].texts[textKey{answer, 1}]; got != "one two" {
			t.Errorf("a reader that %s has the text %q", name, got)
		}
		if c.reader.Seq() != 3 {
			t.Errorf("a reader that %s stands at %d, want 3", name, c.reader.Seq())
		}
	}
}

func TestARestartedRoundIsReadAnew(t *testing.T) {
	r := new(Hub).Open("run", 0)
	rd, p := r.Follow(0), newPage(t)
	r.Think(1, "a thought that is lost")
	r.Write(1, "lost")
	p.next(rd)
	r.Publish([]*pb.RunEvent{noticed(1), restarted(2, 1)})
	r.Write(1, "kept text")
	p.next(rd)
	r.Publish([]*pb.RunEvent{said(3, 1, "kept text"), spent(4, 1), done(5)})
	p.next(rd)
	if got := p.texts[textKey{answer, 1}]; got != "kept text" || p.texts[textKey{thinking, 1}] != "" {
		t.Errorf("texts = %v", p.texts)
	}
	if p.seen[3] {
		t.Error("the logged text was sent although all of it was read live")
	}
}

func TestAReaderFarBehindIsSentToTheLog(t *testing.T) {
	r := new(Hub).Open("run", 10)
	behind := r.Follow(4)
	if events, err := behind.Next(); !errors.Is(err, ErrBehind) {
		t.Fatalf("events before the opening: %v, %v", events, err)
	}
	behind.Skip(10)

	const n = tailEvents + 50
	for i := range n {
		r.Publish([]*pb.RunEvent{noticed(11 + i)})
	}
	if _, err := behind.Next(); !errors.Is(err, ErrBehind) {
		t.Fatalf("err = %v, want ErrBehind after more events than the tail holds", err)
	}
	behind.Skip(10 + 50)
	events, err := behind.Next()
	if err != nil || len(events) != tailEvents || events[0].Seq != 61 || behind.Seq() != 10+n {
		t.Errorf("%d events from %v to %d, %v", len(events), events[0], behind.Seq(), err)
	}
}

func TestAReaderThatSkippedAheadOfWhatIsPublishedGetsNothingTwice(t *testing.T) {
	r := new(Hub).Open("run", 0)
	rd, p := r.Follow(0), newPage(t)
	rd.Skip(3) // read from SQL, committed but not yet published
	r.Publish([]*pb.RunEvent{noticed(1), noticed(2)})
	if events := p.next(rd); len(events) != 0 {
		t.Errorf("got %v", events)
	}
	r.Publish([]*pb.RunEvent{noticed(3), noticed(4)})
	if events := p.next(rd); len(events) != 1 || events[0].Seq != 4 {
		t.Errorf("got %v, want event 4 alone", events)
	}
}

func TestTheEndOfARunIsReadThenEOF(t *testing.T) {
	var h Hub
	r := h.Open("run", 0)
	rd, p := r.Follow(0), newPage(t)
	r.Write(1, "partial")
	h.Close(r)
	events, err := rd.Next()
	p.read(events...)
	if !errors.Is(err, io.EOF) || p.texts[textKey{answer, 1}] != "partial" {
		t.Errorf("%v, %v", events, err)
	}
	if events, err := rd.Next(); len(events) != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v, %v", events, err)
	}
	if h.Get("run") != nil {
		t.Error("the hub still has the run")
	}
	rd.Stop()
}

func TestOpeningARunAgainSendsItsReadersToTheNewOne(t *testing.T) {
	var h Hub
	old := h.Open("run", 0)
	rd := old.Follow(0)
	opened := h.Opened()
	r := h.Open("run", 7)
	select {
	case <-opened:
	default:
		t.Error("nobody was told of the opening")
	}
	if _, err := rd.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("err = %v", err)
	}
	h.Close(old) // late: must not take the new one away
	if h.Get("run") != r {
		t.Error("closing the old run removed the new one")
	}
}

func TestArgumentsAreShownAtMostEvery80Milliseconds(t *testing.T) {
	r := new(Hub).Open("run", 0)
	rd := r.Follow(0)
	now := time.UnixMilli(1_000_000)
	var all strings.Builder
	shown, last := 0, ""
	for i := range 100 { // 10 ms apart
		all.WriteString("x")
		r.Args(1, i%2, "tool", all.String(), now.Add(time.Duration(i)*10*time.Millisecond))
		r.Write(1, "text wakes readers between") // must not carry arguments along
		events, err := rd.Next()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if a := e.GetToolArgs(); a != nil {
				shown++
				last = a.Arguments
			}
		}
	}
	if shown != 13 { // at 0, 80, ..., 960 ms
		t.Errorf("shown %d times within a second, want 13", shown)
	}
	if want := strings.Repeat("x", 97); last != want {
		t.Errorf("last shown has %d bytes, want %d: all the text so far", len(last), len(want))
	}
}

func TestLongArgumentsShowTheirEndFromAWholeCharacterOn(t *testing.T) {
	r := new(Hub).Open("run", 0)
	rd := r.Follow(0)
	r.Args(1, 0, "tool", strings.Repeat("é", maxArgsShown)+"x", time.Now())
	events, _ := rd.Next()
	got := events[0].GetToolArgs().Arguments
	if want := strings.Repeat("é", maxArgsShown/2-1) + "x"; got != want {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
}

func TestProgressShowsTheNewestOfEachCallUntilItsResult(t *testing.T) {
	r := new(Hub).Open("run", 0)
	rd := r.Follow(0)
	for i := range 5 {
		r.Progress(&pb.ToolProgress{ToolCallId: "a", Done: float64(i)})
		r.Progress(&pb.ToolProgress{ToolCallId: "b", Done: float64(10 * i)})
	}
	got := func(rd *Reader) string {
		events, err := rd.Next()
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, e := range events {
			if p := e.GetToolProgress(); p != nil {
				out = append(out, fmt.Sprintf("%s=%g", p.ToolCallId, p.Done))
			}
		}
		return strings.Join(out, " ")
	}
	if s := got(rd); s != "a=4 b=40" {
		t.Errorf("progress = %q", s)
	}
	if s := got(rd); s != "" {
		t.Errorf("nothing changed, but got %q", s)
	}
	r.Publish([]*pb.RunEvent{result(1, "a")})
	if s := got(r.Follow(0)); s != "b=40" {
		t.Errorf("a late reader sees %q, want only the call that goes on", s)
	}
}

func TestNothingOfAClosedRoundIsLive(t *testing.T) {
	r := new(Hub).Open("run", 0)
	r.Think(1, "hm")
	r.Write(1, "text")
	r.Args(1, 0, "tool", "{", time.Now())
	r.Publish([]*pb.RunEvent{thought(1, 1, "hm"), said(2, 1, "text"), spent(3, 1)})
	if round, a, b := r.Text(); round != 0 || a != "" || b != "" {
		t.Errorf("text = %d %q %q", round, a, b)
	}
	events := newPage(t).next(r.Follow(3))
	if len(events) != 0 {
		t.Errorf("a late reader got %v", events)
	}
}
