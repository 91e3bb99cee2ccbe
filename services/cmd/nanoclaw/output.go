package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/terminal"
)

// result is stdout for text of pages and models: on a terminal it is cleaned,
// into a pipe it goes as it is.
func (c *cli) result() io.Writer {
	if terminal.Is(c.stdout) {
		return terminal.CleanWriter{W: c.stdout}
	}
	return c.stdout
}

// encodeJSON is a message in the form of the REST interface, compact.
func encodeJSON(m proto.Message) ([]byte, error) {
	text, err := protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	var out bytes.Buffer // protojson varies its white space on purpose
	if err := json.Compact(&out, text); err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	return out.Bytes(), nil
}

// printJSON prints a message as one indented document.
func (c *cli) printJSON(m proto.Message) error {
	text, err := encodeJSON(m)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	out.WriteByte('\n')
	_, err = c.stdout.Write(out.Bytes())
	return err
}

// printDocument prints a value of ours as one indented document.
func (c *cli) printDocument(value any) error {
	encoder := json.NewEncoder(c.stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// table prints rows in columns under a head.
func (c *cli) table(head string, rows [][]string) error {
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, head)
	for _, row := range rows {
		for i := range row {
			row[i] = terminal.Line(row[i], maxCell)
		}
		_, _ = fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

// maxCell is the longest cell of a table in characters.
const maxCell = 100

// plural is "1 result", "2 results".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
