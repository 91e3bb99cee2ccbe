package document

import (
	"strconv"
	"strings"
)

// writeSpans writes styled text. flat makes it one line; otherwise line breaks
// are kept as hard ones.
func writeSpans(out *strings.Builder, spans []Span, flat bool) {
	begins := true // at the beginning of a line, where more characters mean something
	for i := 0; i < len(spans); {
		if n := spans[i].Note; n > 0 {
			out.WriteString("[^" + strconv.Itoa(n) + "]")
			begins, i = false, i+1
			continue
		}
		j, text := i+1, spans[i].Text
		for j < len(spans) && spans[j].Note == 0 && sameStyle(spans[i], spans[j]) { // one run of style, however it was cut
			text += spans[j].Text
			j++
		}
		writeSpan(out, spans[i], text, flat, begins)
		begins = begins && text == ""
		i = j
	}
}

func sameStyle(a, b Span) bool {
	return a.Bold == b.Bold && a.Italic == b.Italic && a.Strike == b.Strike && a.URL == b.URL
}

// writeSpan puts the marks of a style close around its text, as CommonMark wants:
// white space at its ends stays outside.
func writeSpan(out *strings.Builder, s Span, text string, flat, begins bool) {
	core := strings.TrimSpace(text)
	if core == "" {
		out.WriteString(breaks(text, flat))
		return
	}
	at := strings.Index(text, core)
	var mark string
	switch {
	case s.Bold && s.Italic:
		mark = "***"
	case s.Bold:
		mark = "**"
	case s.Italic:
		mark = "*"
	}
	if s.Strike {
		mark = "~~" + mark
	}
	out.WriteString(breaks(text[:at], flat))
	if s.URL != "" {
		out.WriteByte('[')
	}
	out.WriteString(mark)
	out.WriteString(breaks(escape(core, begins && mark == "" && s.URL == ""), flat))
	for i := len(mark) - 1; i >= 0; i-- {
		out.WriteByte(mark[i])
	}
	if s.URL != "" {
		out.WriteString("](" + linkTarget(s.URL) + ")")
	}
	out.WriteString(breaks(text[at+len(core):], flat))
}

// linkTarget makes an address safe between parentheses.
func linkTarget(u string) string {
	return strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "\n", "", "\r", "", "\t", "").Replace(u)
}

// breaks writes line breaks inside a block.
func breaks(s string, flat bool) string {
	if !strings.Contains(s, "\n") {
		return s
	}
	if flat {
		return strings.ReplaceAll(s, "\n", " ")
	}
	return strings.ReplaceAll(s, "\n", "  \n")
}

// escape keeps text from meaning something in Markdown. begins says that it
// stands at the beginning of a line.
func escape(s string, begins bool) string {
	var out strings.Builder
	out.Grow(len(s) + 8)
	line := begins
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' || c == '`' || c == '*' || c == '[' || c == ']' || c == '<' || c == '|':
			out.WriteByte('\\')
		case c == '_' && !(between(s, i, isWordByte)), c == '~' && i+1 < len(s) && s[i+1] == '~':
			out.WriteByte('\\')
		case c == '&' && i+1 < len(s) && (s[i+1] == '#' || isLetter(s[i+1])):
			out.WriteByte('\\')
		case line && (c == '#' || c == '>' || c == '=' || ((c == '-' || c == '+') && (i+1 == len(s) || s[i+1] == ' ' || s[i+1] == c))):
			out.WriteByte('\\')
		case line && c >= '0' && c <= '9':
			end := i
			for end < len(s) && end-i < 10 && s[end] >= '0' && s[end] <= '9' {
				end++
			}
			if end < len(s) && (s[end] == '.' || s[end] == ')') && (end+1 == len(s) || s[end+1] == ' ') {
				out.WriteString(s[i:end] + `\`)
				i, c = end, s[end]
			}
		}
		out.WriteByte(c)
		line = c == '\n' || line && (c == ' ' || c == '\t')
	}
	return out.String()
}

// between says that the characters on both sides of byte i are of a kind.
func between(s string, i int, is func(byte) bool) bool {
	return i > 0 && i+1 < len(s) && is(s[i-1]) && is(s[i+1])
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isWordByte(c byte) bool {
	return c >= 0x80 || c >= '0' && c <= '9' || isLetter(c)
}

// writeTable writes a table with outer pipes. One without a header gets an empty
// one, since there is no table without.
func writeTable(out *strings.Builder, t *Table) {
	if t.Caption != "" {
		out.WriteString("**" + escape(t.Caption, true) + "**\n\n")
	}
	if len(t.Rows) == 0 {
		return
	}
	width := len(t.Rows[0])
	rows := t.Rows
	if t.Header {
		writeRow(out, rows[0])
		rows = rows[1:]
	} else {
		writeRow(out, make([]string, width))
	}
	out.WriteString("\n|" + strings.Repeat(" --- |", width))
	for _, row := range rows {
		out.WriteByte('\n')
		writeRow(out, row)
	}
}

func writeRow(out *strings.Builder, row []string) {
	out.WriteByte('|')
	for _, cell := range row {
		out.WriteByte(' ')
		out.WriteString(strings.ReplaceAll(escape(strings.TrimSpace(cell), false), "\n", "<br>"))
		out.WriteString(" |")
	}
}

// flatCell is a cell of plain text, where tabs and line breaks part cells.
func flatCell(s string) string {
	if !strings.ContainsAny(s, "\t\n\r") {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// Fenced is text as it stands, or in a code block whose fence is longer than any
// in the text.
func Fenced(text, language string) string {
	if language == "" || text == "" {
		return text
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimRight(text, "\n") + "\n" + fence
}
