package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/follow"
	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/transcript"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

const reasonNoModel = "MODEL_NOT_CONFIGURED"

// noModel says how to set a model: the models of each line are YAML that can be
// copied.
const noModel = `no model is configured. OpenAI: put into config.yml  models: [{id: gpt-5, api_url: https://api.openai.com/v1, api_key: "${OPENAI_API_KEY}"}]
GLM: put into config.yml  models: [{id: glm-5, api_url: https://open.bigmodel.cn/api/paas/v4, api_key: "${GLM_API_KEY}"}]
local Ollama: ollama pull qwen3, then put into config.yml  models: [{id: qwen3, api_url: http://127.0.0.1:11434/v1}]`

// maxMessageBytes is the longest message read from stdin.
const maxMessageBytes = 1 << 20

// chatFlags are what chat can be told.
type chatFlags struct {
	peerFlags

	conversation, model      string
	noTools, thinking        bool
	asJSON, asEvents, isLoop bool
}

func (c *cli) chatCommand() *cobra.Command {
	var f chatFlags
	cmd := &cobra.Command{
		Use: "chat [MESSAGE]", Short: "Ask something, or talk", Args: between(0, 1),
		Long: `Ask one thing, or, without a message, talk: /new begins again, /quit leaves.
A message of - is read from stdin.

The answer goes to stdout, the steps to it go to stderr. On a terminal the text
is shown as it is written; a pipe gets the answer alone. Ctrl+C cancels the run,
a second one leaves at once.`,
		Example: `  nanoclaw chat "what is new in go 1.26?"
  nanoclaw chat --conversation conv_01... "and in 1.27?"
  nanoclaw chat - --json < question.txt`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := exclusive(cmd, "json", "jsonl"); err != nil {
				return err
			}
			f.isLoop = len(args) == 0
			return c.chat(cmd, &f, strings.Join(args, ""))
		},
	}
	f.addPeer(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.conversation, "conversation", "", "go on with this conversation")
	fs.StringVar(&f.model, "model", "", "id of a configured model (default: the default model)")
	fs.BoolVar(&f.noTools, "no-tools", false, "answer without tools")
	fs.BoolVar(&f.thinking, "thinking", false, "show what the model thinks")
	fs.BoolVar(&f.asJSON, "json", false, "print the answer with its steps as one JSON document")
	fs.BoolVar(&f.asEvents, "jsonl", false, "print every event as a line of JSON")
	return cmd
}

// chat connects and asks, once or in a loop.
func (c *cli) chat(cmd *cobra.Command, f *chatFlags, message string) (err error) {
	if message == "-" {
		if message, err = c.readMessage(); err != nil {
			return err
		}
	}
	if !f.isLoop && strings.TrimSpace(message) == "" {
		return usagef("the message is empty: %s", cmd.UseLine())
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, endSignals()...)
	defer signal.Stop(signals)

	to, err := c.connectUntil(ctx, cmd, &f.peerFlags, signals)
	if err != nil {
		return err
	}
	t := &talk{cli: c, flags: f, interrupts: interrupts(ctx, signals),
		conversations: orchestratorv1.NewConversationServiceClient(to), runs: orchestratorv1.NewRunServiceClient(to)}
	defer func() { err = t.close(to, err) }()
	if err := t.begin(ctx, orchestratorv1.NewAccountServiceClient(to)); err != nil {
		return to.explain(err)
	}
	if f.isLoop {
		return t.loop(ctx)
	}
	return to.explain(t.ask(ctx, message))
}

// close ends what connect started, unless the person wants to leave at once.
func (t *talk) close(to *peer, err error) error {
	if errors.Is(err, follow.ErrLeft) {
		return err
	}
	closed := make(chan error, 1)
	go func() { closed <- to.close() }()
	select {
	case closing := <-closed:
		if err == nil {
			err = closing
		}
		return err
	case <-t.interrupts:
		return errInterrupted
	}
}

// connectUntil is connect, which Ctrl+C ends.
func (c *cli) connectUntil(ctx context.Context, cmd *cobra.Command, f *peerFlags, signals <-chan os.Signal, targets ...string) (*peer, error) {
	type connected struct {
		peer *peer
		err  error
	}
	ctx, stop := context.WithCancel(ctx)
	done := make(chan connected, 1)
	go func() {
		p, err := c.connect(ctx, cmd, f, targets...)
		done <- connected{p, err}
	}()
	select {
	case r := <-done:
		context.AfterFunc(ctx, stop)
		return r.peer, r.err
	case <-signals:
		stop()
		if r := <-done; r.peer != nil {
			_ = r.peer.close() // the interruption is what there is to say
		}
		return nil, errInterrupted
	}
}

func (c *cli) readMessage() (string, error) {
	text, err := io.ReadAll(io.LimitReader(c.stdin, maxMessageBytes+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read the message from stdin: %w", err)
	case len(text) > maxMessageBytes:
		return "", usagef("the message on stdin has over %d bytes", maxMessageBytes)
	}
	return string(text), nil
}

// interrupts passes signals on as what they mean here.
func interrupts(ctx context.Context, signals <-chan os.Signal) <-chan struct{} {
	out := make(chan struct{})
	go func() {
		for {
			select {
			case <-signals:
			case <-ctx.Done():
				return
			}
			select {
			case out <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// talk is one conversation with the server.
type talk struct {
	*cli
	flags         *chatFlags
	conversations orchestratorv1.ConversationServiceClient
	runs          orchestratorv1.RunServiceClient
	interrupts    <-chan struct{}

	conversation string // empty: the next question begins one
}

// view shows a run.
type view interface {
	seen(*orchestratorv1.RunEvent, *transcript.Transcript)
	// aside is called before something else is said.
	aside()
	// ended is called once, when nothing more comes.
	ended(*transcript.Transcript) error
}

func (t *talk) view() view {
	switch {
	case t.flags.asJSON:
		return documentView{t.cli}
	case t.flags.asEvents:
		return &eventsView{c: t.cli}
	}
	return t.newHumanView(t.flags.thinking)
}

// begin makes sure that there is a model, and follows what goes on already in
// the conversation that was named.
func (t *talk) begin(ctx context.Context, account orchestratorv1.AccountServiceClient) error {
	models, err := account.ListModels(ctx, &orchestratorv1.ListModelsRequest{})
	if err != nil {
		return err
	}
	if len(models.GetModels()) == 0 {
		return errors.New(noModel)
	}
	if t.conversation = t.flags.conversation; t.conversation == "" {
		return nil
	}
	res, err := t.conversations.GetConversation(ctx, &orchestratorv1.GetConversationRequest{ConversationId: t.conversation})
	if err != nil {
		return err
	}
	live := res.GetConversation().GetLiveRun()
	if live == nil || !t.flags.isLoop {
		return nil
	}
	t.note("an answer is being made; following it")
	return t.follow(ctx, func(ctx context.Context, f *follow.Follower) (*transcript.Transcript, error) {
		return f.Watch(ctx, live.GetId())
	})
}

// ask asks one question and shows the answer.
func (t *talk) ask(ctx context.Context, message string) error {
	if t.conversation == "" {
		res, err := t.conversations.CreateConversation(ctx, &orchestratorv1.CreateConversationRequest{Model: t.flags.model})
		if err != nil {
			return err
		}
		t.conversation = res.GetConversation().GetId()
	}
	req := &orchestratorv1.StreamMessageRequest{ConversationId: t.conversation, Content: message, Model: t.flags.model}
	if t.flags.noTools {
		req.ToolsEnabled = new(false)
	}
	err := t.follow(ctx, func(ctx context.Context, f *follow.Follower) (*transcript.Transcript, error) {
		return f.Ask(ctx, req)
	})
	if !t.flags.isLoop && !t.flags.asJSON && !t.flags.asEvents {
		t.note("go on with --conversation %s", t.conversation)
	}
	return err
}

// follow shows a run to its end and says how it ended.
func (t *talk) follow(ctx context.Context, run func(context.Context, *follow.Follower) (*transcript.Transcript, error)) error {
	ctx, cancel := t.flags.bound(ctx)
	defer cancel()
	v := t.view()
	f := &follow.Follower{
		Conversations: t.conversations, Runs: t.runs, Interrupts: t.interrupts,
		Seen: v.seen, Note: func(text string) {
			v.aside()
			t.note("%s", text)
		},
	}
	said, err := run(ctx, f)
	if said.RunID != "" {
		if shown := v.ended(said); err == nil {
			err = shown
		}
	}
	switch {
	case errors.Is(err, follow.ErrLeft):
		return fmt.Errorf("%w: %w", errInterrupted, err)
	case err == nil && f.Interrupted:
		return errInterrupted
	case errors.Is(err, context.DeadlineExceeded):
		return &exitError{exitTimeout, fmt.Errorf("timed out after %s, the run is cancelled: give it more time with --timeout", t.flags.timeout)}
	case rpcerr.Reason(err) == reasonNoModel, said.Failed.GetReason() == reasonNoModel:
		return errors.New(noModel)
	case err != nil:
		return err
	case said.Failed != nil:
		return fmt.Errorf("the run failed: %s", failedWords(said.Failed))
	case said.Done.GetFinishReason() == "cancelled":
		return errors.New("the run was cancelled by somebody else")
	}
	return nil
}

func failedWords(e *orchestratorv1.RunError) string {
	words := e.GetMessage()
	if e.GetTraceId() != "" {
		words += " (" + e.GetReason() + ", trace " + e.GetTraceId() + ")"
	}
	return words
}
