//go:build e2e

package e2e

import (
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/demo"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// stage is what the scenarios are told of the world, as JSON.
type stage struct {
	// App is the address of the app, through the proxy; Direct is the server's
	// own, without.
	App    string `json:"app"`
	Token  string `json:"token"`
	Direct string `json:"direct"`
	// Control is where the world is changed; see control.
	Control string `json:"control"`
	// Site has pages for a crawl: anything below it.
	Site string `json:"site"`
	// SlowSite takes a while for each.
	SlowSite string `json:"slow_site"`
	// Hostile is a page that says what it is asked to: /hostile?text=...
	Hostile string `json:"hostile"`
	// Foreign are a conversation and a run of somebody else.
	Foreign struct {
		Conversation string `json:"conversation"`
		Run          string `json:"run"`
	} `json:"foreign"`
	// Many is a conversation of 1,000 messages; empty when it is not measured.
	Many string `json:"many"`
	// Demo and DemoQuestion are the demonstration's; FirstRun is a server
	// without a model. Both addresses sign in.
	Demo         string `json:"demo"`
	DemoQuestion string `json:"demo_question"`
	FirstRun     string `json:"first_run"`
	// Screenshots is the folder for them.
	Screenshots string `json:"screenshots"`
}

func (s stage) json(t testing.TB) string {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// set makes the world, starts the server in it, and tells both.
func set(t testing.TB) (stage, *world.World) {
	t.Helper()
	w := world.New(t, script(t))
	hands := w.StartHands(t)
	// Tallies are made at once, notes are asked for.
	w.Config.Tools.AutoApprove = []string{"hands__tally", "run_code"}
	w.Config.Tools.MaxIterations = 4 * longRounds
	site := w.NewSites(t, 1, 0, "")
	slow := w.NewSites(t, 1, 300*time.Millisecond, "")
	hostile := httptest.NewServer(http.HandlerFunc(sayHostile))
	t.Cleanup(hostile.Close)
	w.Config.Netguard.Allow = append(w.Config.Netguard.Allow, strings.TrimPrefix(hostile.URL, "http://"))

	p := newProxy(t)
	binary, config := world.Program(t, "nanoclaw"), w.ConfigFile(t)
	c := &control{proxy: p, hands: hands}
	var process *world.Process
	c.start = func() (err error) {
		process, err = serve(t, binary, config)
		if err == nil {
			p.upstream.Store(strings.TrimPrefix(process.Base, "http://"))
		}
		return err
	}
	c.stop = func() error {
		p.upstream.Store("")
		p.cutAll()
		return process.Stop()
	}
	if err := c.start(); err != nil {
		t.Fatal(err)
	}
	s := stage{
		App: "http://" + p.addr, Token: process.Token, Direct: process.Base, Control: c.serve(t),
		Site: "http://" + site.Hosts[0], SlowSite: "http://" + slow.Hosts[0], Hostile: hostile.URL + "/hostile",
	}
	other := &world.Client{Base: process.Base, HTTP: process.HTTP, Token: world.AddUser(t, w.Config.DataDir, "other").Token(t, "all", "*")}
	s.Foreign.Conversation = other.Conversation(t)
	s.Foreign.Run = other.Ask(t, s.Foreign.Conversation, "Anything?").RunID
	return s, w
}

var address = regexp.MustCompile(`https?://\S+`)

// serve is world.Serve for other goroutines than the test's.
func serve(t testing.TB, binary, config string) (*world.Process, error) {
	process, err := world.Launch(t, exec.Command(binary, "serve", "--config", config))
	if err != nil {
		return nil, err
	}
	process.Client = world.ClientAt(address.FindString(process.Ready))
	return process, nil
}

// sayHostile is a page about whatever the request has: as words of the page, of
// its title, and of a link.
func sayHostile(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/hostile" {
		http.NotFound(w, r)
		return
	}
	text := html.EscapeString(r.FormValue("text"))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, "<!doctype html><html><head><title>"+text+"</title></head><body><article><h1>"+text+"</h1><p>"+text+
		"</p><p>A paragraph that is long enough to be the main text of a page, so that it is taken for it.</p><a href=\"/hostile?text=link\">"+text+"</a></article></body></html>")
}

// others starts the demonstration and a server without a model.
func (s *stage) others(t testing.TB) {
	t.Helper()
	d, err := demo.Start(t.Context(), demo.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	s.Demo, s.DemoQuestion = d.URL(), demo.Question
	bare := world.New(t, "turns: [{replies: [{steps: [{text: unused}]}]}]")
	bare.Config.Models, bare.Config.DefaultModel = nil, ""
	first := world.Serve(t, world.Program(t, "nanoclaw"), bare.ConfigFile(t))
	s.FirstRun = first.Base + "/?token=" + first.Token
	if s.Screenshots, err = filepath.Abs("../../../bin/screenshots"); err != nil {
		t.Fatal(err)
	}
}
