package edge

import (
	"bytes"
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/internal/suite"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answering is a script whose model searches, reads and answers when it is asked
// to look something up, and else answers at once.
const answering = `
model: scripted-edge
turns:
  - when: {user_contains: "look up"}
    replies:
      - steps:
          - reasoning: "The web will know."
          - call: {name: web_search, arguments: {query: "nanoclaws size"}}
      - steps:
          - call: {name: fetch_page, arguments: {url: "{{url web_search 0}}"}}
      - steps:
          - text: "The page says: {{result fetch_page content.text}}"
  - replies:
      - steps: [{text: "As you say: {{user}}"}]
`

// The scopes of tokens.
var scopes = []string{"chat", "tools", "search", "fetch", "crawl", "code", "files", "usage", "tokens"}

// fileName is of a file that everybody has in a workspace.
const fileName = "notes.txt"

// person is a user with things of their own.
type person struct {
	*world.Client
	// secret is a word that stands in everything of this person.
	secret string
	// ids of things of this person, by the name of the request field that holds
	// such an id.
	ids map[string]string
}

// all lists the ids, sorted.
func (p *person) all() []string {
	var all []string
	for _, id := range p.ids {
		all = append(all, id)
	}
	slices.Sort(all)
	return all
}

// house is a running suite with two users.
type house struct {
	*world.World
	suite *suite.Suite
	owner person // the deployment's own user
	guest person // somebody else, with every scope
	// lacking are tokens of the guest with all scopes but one, by that one.
	lacking map[string]string
}

func newHouse(t *testing.T) *house {
	t.Helper()
	w := world.New(t, answering)
	makeDataFolder(t, w)
	guest := world.AddUser(t, w.Config.DataDir, "guest")
	token := guest.Token(t, "all", scopes...)
	h := &house{World: w, lacking: map[string]string{}}
	for _, s := range scopes {
		rest := slices.DeleteFunc(slices.Clone(scopes), func(one string) bool { return one == s })
		h.lacking[s] = guest.Token(t, "without-"+s, rest...)
	}
	h.suite = w.Start(t)
	h.owner = furnish(t, world.ClientOf(h.suite), "aardvark")
	other := world.ClientOf(h.suite)
	other.Token = token
	h.guest = furnish(t, other, "buffalo")
	return h
}

// makeDataFolder runs the suite once, so that there is a database.
func makeDataFolder(t *testing.T, w *world.World) {
	t.Helper()
	s, err := suite.Start(t.Context(), w.Config, suite.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// furnish makes one thing of every kind that has an id.
func furnish(t *testing.T, c *world.Client, secret string) person {
	t.Helper()
	t.Cleanup(c.HTTP.CloseIdleConnections)
	p := person{Client: c, secret: secret, ids: map[string]string{}}
	conversation := c.Data(t, "POST", "/api/conversations", map[string]any{"title": secret, "system_prompt": secret})
	p.ids["conversation_id"] = conversation["id"].(string)
	answer := c.Data(t, "POST", "/api/conversations/"+p.ids["conversation_id"]+"/messages",
		map[string]any{"content": "Please look up " + secret, "stream": false})
	p.ids["message_id"], p.ids["run_id"] = answer["id"].(string), answer["run_id"].(string)
	for _, step := range answer["steps"].([]any) {
		if result, ok := step.(map[string]any)["result"].(map[string]any); ok {
			p.ids["result_id"] = result["result_id"].(string)
		}
	}
	p.ids["token_id"] = c.Data(t, "POST", "/api/tokens", map[string]any{"name": secret})["id"].(string)
	p.ids["task_id"] = crawled(t, c, secret)
	p.ids["workspace_id"] = "of-" + secret
	upload(t, c, p.ids["workspace_id"], fileName, secret)
	// Names that only our own processes use; nobody has such things.
	for _, name := range []string{"worker_id", "lease_id", "lease_ids"} {
		p.ids[name] = name + "-of-" + secret
	}
	for name, id := range p.ids {
		if id == "" {
			t.Fatalf("%s of %s is empty", name, secret)
		}
	}
	return p
}

// within is the time that anything here may take.
const within = 20 * time.Second

func deadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	t.Cleanup(cancel)
	return ctx
}

// crawled makes a task that is done when it returns.
func crawled(t *testing.T, c *world.Client, secret string) string {
	t.Helper()
	id, _ := c.Data(t, "POST", "/api/crawler/tasks", map[string]any{"urls": []string{"not an address of " + secret}})["task_id"].(string)
	res, err := c.Do(deadline(t), "GET", "/api/crawler/tasks/"+id+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	world.Events(res.Body, func(e world.Event) bool { return e.Name != "done" })
	return id
}

// upload puts a file into a workspace.
func upload(t *testing.T, c *world.Client, workspace, name, content string) {
	t.Helper()
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	part, err := parts.CreateFormFile("file", name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(part, content); err != nil {
		t.Fatal(err)
	}
	if err := parts.Close(); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(deadline(t), http.MethodPost, c.Base+"/api/workspaces/"+workspace+"/files", &form)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", parts.FormDataContentType())
	req.Header.Set("Authorization", "Bearer "+c.Token)
	res, err := c.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if answer, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("upload: %d %s %v", res.StatusCode, answer, err)
	}
}
