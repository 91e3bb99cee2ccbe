package modelserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// namePrefix starts the name of every scripted model.
const namePrefix = "scripted"

// defaultChunk is the number of characters of one delta.
const defaultChunk = 16

// Script says how the model answers; see the package documentation.
type Script struct {
	// Model is the model's name; "scripted" is put before it where it is not
	// there yet.
	Model string `yaml:"model"`
	// Chunk is the number of characters of one delta, 16 when 0.
	Chunk int    `yaml:"chunk"`
	Turns []Turn `yaml:"turns"`
}

// Turn is what follows on one user message.
type Turn struct {
	When    Condition `yaml:"when"`
	Replies []Reply   `yaml:"replies"`
	// Repeat plays the last reply again when there are no more.
	Repeat bool `yaml:"repeat"`
}

// Condition chooses a turn; members left zero do not matter.
type Condition struct {
	UserContains string `yaml:"user_contains"`
	LastRole     string `yaml:"last_role"`
	Model        string `yaml:"model"`
	// Request is the number of the chat request to this server, from 1.
	Request int `yaml:"request"`
}

// Reply is the answer to one model call.
type Reply struct {
	Steps   []Step `yaml:"steps"`
	Finish  string `yaml:"finish"`
	Usage   *Usage `yaml:"usage"`
	NoUsage bool   `yaml:"no_usage"`
	// Until plays the reply again and again; nil: once.
	Until *Until `yaml:"until"`
	// HTTP, when set, is the whole answer.
	HTTP *HTTP `yaml:"http"`
}

// Until says how long a reply is played again: until the value at Path in the
// latest result of Tool is Is, but no more than AtMost times.
type Until struct {
	Tool   string `yaml:"tool"`
	Path   string `yaml:"path"`
	Is     string `yaml:"is"`
	AtMost int    `yaml:"at_most"`
}

// Usage is the token count that a reply states.
type Usage struct {
	PromptTokens     int `yaml:"prompt_tokens"`
	CompletionTokens int `yaml:"completion_tokens"`
}

// HTTP is an answer outside the protocol: an error or a foreign page. Body is a
// string, or a mapping that is sent as JSON.
type HTTP struct {
	Status  int               `yaml:"status"`
	Headers map[string]string `yaml:"headers"`
	Body    any               `yaml:"body"`
}

// Step is one thing that a reply does; exactly one member is set.
type Step struct {
	Text      string `yaml:"text"`
	Reasoning string `yaml:"reasoning"`
	Call      *Call  `yaml:"call"`
	DelayMS   int    `yaml:"delay_ms"` // milliseconds
	Comment   string `yaml:"comment"`
	Raw       string `yaml:"raw"`
	RepeatRaw *Flood `yaml:"repeat_raw"`
	Cut       bool   `yaml:"cut"`
	End       bool   `yaml:"end"`
	Silence   bool   `yaml:"silence"`
}

// Call is one tool call. Arguments are a mapping, or a string that is sent as
// it is. An empty ID gets one of the server's.
type Call struct {
	ID        string `yaml:"id"`
	Name      string `yaml:"name"`
	Arguments any    `yaml:"arguments"`
}

// Flood is a piece of raw stream and how often it is sent.
type Flood struct {
	Text  string `yaml:"text"`
	Times int    `yaml:"times"`
}

// Load reads a script file, YAML or JSON.
func Load(path string) (Script, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Script{}, fmt.Errorf("read model script: %w", err)
	}
	s, err := Parse(data)
	if err != nil {
		return Script{}, fmt.Errorf("model script %s: %w", path, err)
	}
	return s, nil
}

// Parse reads a script. Unknown members are errors.
func Parse(data []byte) (Script, error) {
	var s Script
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&s); err != nil {
		if errors.Is(err, io.EOF) {
			return Script{}, errors.New("the script is empty")
		}
		return Script{}, err
	}
	return s, s.Validate()
}

// Validate says what is wrong with a script, naming the place.
func (s Script) Validate() error {
	if len(s.Turns) == 0 {
		return errors.New("turns: a script needs at least one")
	}
	for t, turn := range s.Turns {
		if len(turn.Replies) == 0 {
			return fmt.Errorf("turns[%d].replies: a turn needs at least one", t)
		}
		for r, reply := range turn.Replies {
			if err := reply.validate(); err != nil {
				return fmt.Errorf("turns[%d].replies[%d]: %w", t, r, err)
			}
		}
	}
	return nil
}

func (r Reply) validate() error {
	switch {
	case r.HTTP != nil && (len(r.Steps) > 0 || r.Finish != "" || r.Usage != nil):
		return errors.New("http is the whole answer: nothing else goes with it")
	case r.HTTP != nil && (r.HTTP.Status < 200 || r.HTTP.Status > 599):
		return fmt.Errorf("http.status: %d is not a status of a final answer", r.HTTP.Status)
	}
	if u := r.Until; u != nil && (u.Tool == "" || u.Path == "" || u.AtMost < 1) {
		return errors.New("until: wants tool, path, is and at_most")
	}
	for i, s := range r.Steps {
		if n := s.members(); n != 1 {
			return fmt.Errorf("steps[%d]: has %d of text, reasoning, call, delay_ms, comment, raw, repeat_raw, cut, end, silence; want one", i, n)
		}
		if s.Call != nil && s.Call.Name == "" {
			return fmt.Errorf("steps[%d].call.name: is empty", i)
		}
	}
	return nil
}

// members counts what is set.
func (s Step) members() int {
	n := 0
	for _, set := range []bool{
		s.Text != "", s.Reasoning != "", s.Call != nil, s.DelayMS > 0, s.Comment != "",
		s.Raw != "", s.RepeatRaw != nil, s.Cut, s.End, s.Silence,
	} {
		if set {
			n++
		}
	}
	return n
}

// name is the model's name as it is told.
func (s Script) name() string {
	switch {
	case s.Model == "":
		return namePrefix
	case strings.HasPrefix(s.Model, namePrefix):
		return s.Model
	}
	return namePrefix + "-" + s.Model
}

func (s Script) chunk() int {
	if s.Chunk > 0 {
		return s.Chunk
	}
	return defaultChunk
}
