package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/follow"
	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/terminal"
)

// chatCommands are the words that are no message.
var chatCommands = []string{"/new", "/quit", "/help"}

// commandWord is a line that means to be a command.
var commandWord = regexp.MustCompile(`^/[a-z]+$`)

// typed is one line, or the end of the input.
type typed struct {
	line string
	err  error
}

// loop asks one question a line until the input ends. For a person a failed
// question is no reason to end; a script ends with it.
func (t *talk) loop(ctx context.Context) error {
	person := terminal.Is(t.stdin)
	if person {
		t.note("ask something; /new begins again, /quit leaves, a line that ends in \\ goes on")
	}
	lines := t.lines(ctx)
	for {
		if person {
			_, _ = fmt.Fprint(t.stderr, "> ")
		}
		select {
		case <-t.interrupts:
			_, _ = fmt.Fprintln(t.stderr)
			return errInterrupted
		case in := <-lines:
			if errors.Is(in.err, io.EOF) {
				return t.leave()
			}
			if in.err != nil {
				return fmt.Errorf("read from stdin: %w", in.err)
			}
			quit, err := t.typed(ctx, in.line)
			if quit {
				return t.leave()
			}
			if err != nil && (!person || errors.Is(err, follow.ErrLeft)) {
				return err
			}
			if err != nil && !errors.Is(err, errInterrupted) {
				report(t.stderr, err)
			}
		}
	}
}

// leave says how to come back.
func (t *talk) leave() error {
	if t.conversation != "" {
		t.note("go on with --conversation %s", t.conversation)
	}
	return nil
}

// typed does what a line says.
func (t *talk) typed(ctx context.Context, line string) (quit bool, err error) {
	switch word := strings.TrimSpace(line); {
	case word == "":
		return false, nil
	case word == "/quit", word == "/exit":
		return true, nil
	case word == "/new":
		t.conversation = ""
		t.note("a new conversation begins")
		return false, nil
	case word == "/help":
		t.note("/new begins a new conversation, /quit leaves, everything else is asked")
		return false, nil
	case commandWord.MatchString(word):
		t.note("there is no command %s%s", word, didYouMean("", word, chatCommands, "; /help lists them"))
		return false, nil
	}
	return false, t.ask(ctx, line)
}

// lines reads stdin. A line that ends in a backslash goes on in the next.
func (t *talk) lines(ctx context.Context) <-chan typed {
	out := make(chan typed)
	go func() {
		in := bufio.NewReader(io.LimitReader(t.stdin, maxTypedBytes))
		var whole strings.Builder
		for {
			line, err := in.ReadString('\n')
			line = strings.TrimRight(line, "\r\n")
			if head, goesOn := strings.CutSuffix(line, `\`); goesOn && err == nil {
				whole.WriteString(head + "\n")
				continue
			}
			whole.WriteString(line)
			if whole.Len() > 0 || err == nil {
				select {
				case out <- typed{line: whole.String()}:
				case <-ctx.Done():
					return
				}
				whole.Reset()
			}
			if err != nil {
				select {
				case out <- typed{err: err}:
				case <-ctx.Done():
				}
				return
			}
		}
	}()
	return out
}

// maxTypedBytes bounds what one talk reads in all.
const maxTypedBytes = 64 << 20
