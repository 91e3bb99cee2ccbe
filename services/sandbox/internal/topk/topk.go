// Package topk finds the most frequent lines of a text of any size, with memory
// for the different lines only, and of them only a hash each.
package topk

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"io"
	"regexp"
	"slices"
	"strings"
)

const (
	// MaxDistinct is how many different lines are told apart exactly.
	MaxDistinct = 1_000_000
	// MaxLineBytes is how much of a line is compared.
	MaxLineBytes = 64 << 10
	// MaxShownRunes is how much of a line is shown.
	MaxShownRunes = 300
)

// Query says what is counted.
type Query struct {
	// K is how many lines are wanted.
	K int
	// Pattern selects lines; nil: all.
	Pattern *regexp.Regexp
	// MaxDistinct is how many different lines are told apart; 0: [MaxDistinct].
	MaxDistinct int
	// Progress is told now and then how many bytes were read; nil: nobody.
	Progress func(bytes int64)
}

// Line is a line with its number of times.
type Line struct {
	// Text without the white space around it; cut and with U+FFFD for what is not
	// UTF-8.
	Text string
	// Count is how often it stands in the text. Where the answer is not exact it
	// may have been up to Missed times more.
	Count, Missed int64
}

// Answer is what was counted.
type Answer struct {
	// Lines, the most frequent first, equal ones by their first appearance.
	Lines []Line
	// Read, Blank and Counted are numbers of lines: all, those without anything
	// in them, and those that were counted.
	Read, Blank, Counted int64
	// Distinct is how many different lines were counted; when Exact is false, how
	// many were still remembered.
	Distinct int
	// Exact says that no line was forgotten.
	Exact bool
	// Cut is how many lines were longer than what is compared.
	Cut int64
}

// id stands for a line: two keyed hashes, so that no text can be made whose
// different lines are taken for one.
type id [2]uint64

type tally struct {
	count, missed int64
	at            int64 // where the line first stands, in bytes
}

type counter struct {
	q     Query
	seeds [2]maphash.Seed
	lines map[id]tally
	floor int64 // no forgotten line was there more often
	out   Answer
}

// Count reads the text to its end, and then the lines that it answers again.
func Count(ctx context.Context, text io.ReaderAt, size int64, q Query) (Answer, error) {
	if q.MaxDistinct <= 0 {
		q.MaxDistinct = MaxDistinct
	}
	c := &counter{q: q, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, lines: map[id]tally{}}
	if err := c.read(ctx, io.NewSectionReader(text, 0, size)); err != nil {
		return Answer{}, err
	}
	c.out.Distinct, c.out.Exact = len(c.lines), c.floor == 0
	if err := c.choose(text, size); err != nil {
		return Answer{}, err
	}
	return c.out, nil
}

const (
	linesBetweenLooks = 4096
	bytesBetweenNews  = 8 << 20
)

func (c *counter) read(ctx context.Context, r io.Reader) error {
	in := bufio.NewReaderSize(r, MaxLineBytes)
	var at, told int64
	for {
		if c.out.Read%linesBetweenLooks == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		line, n, err := nextLine(in)
		if n == 0 && errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if n > MaxLineBytes {
			c.out.Cut++
		}
		c.take(line, at)
		if at += n; c.q.Progress != nil && at-told >= bytesBetweenNews {
			told = at
			c.q.Progress(at)
		}
	}
}

// nextLine reads a line with its end. Of a longer one than the buffer it answers
// the beginning; n counts all of it. The bytes are good until the next call.
func nextLine(in *bufio.Reader) (line []byte, n int64, err error) {
	line, err = in.ReadSlice('\n')
	n = int64(len(line))
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, n, err
	}
	line = bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		var rest []byte
		rest, err = in.ReadSlice('\n')
		n += int64(len(rest))
	}
	return line, n, err
}

var byteOrderMark = []byte("\xef\xbb\xbf")

func trim(line []byte, at int64) []byte {
	if at == 0 {
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	return bytes.TrimSpace(line)
}

func (c *counter) take(line []byte, at int64) {
	c.out.Read++
	line = trim(line, at)
	if len(line) == 0 {
		c.out.Blank++
		return
	}
	if c.q.Pattern != nil && !c.q.Pattern.Match(line) {
		return
	}
	c.out.Counted++
	key := c.idOf(line)
	t, known := c.lines[key]
	if !known {
		if len(c.lines) >= c.q.MaxDistinct {
			c.forget()
		}
		t = tally{at: at, missed: c.floor}
	}
	t.count++
	c.lines[key] = t
}

func (c *counter) idOf(line []byte) id {
	return id{maphash.Bytes(c.seeds[0], line), maphash.Bytes(c.seeds[1], line)}
}

// forget makes room by forgetting the rarer half of the lines ("lossy counting",
// Manku and Motwani 2002): what was frequent stays, and floor bounds the error.
func (c *counter) forget() {
	most := make([]int64, 0, len(c.lines)) // how often each line can have been there
	for _, t := range c.lines {
		most = append(most, t.count+t.missed)
	}
	slices.Sort(most)
	c.floor = most[len(most)/2]
	for key, t := range c.lines {
		if t.count+t.missed <= c.floor {
			delete(c.lines, key)
		}
	}
}

type candidate struct {
	id id
	tally
}

// better orders the answer.
func better(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.at, b.at))
}

func (c *counter) choose(text io.ReaderAt, size int64) error {
	var best []candidate
	for key, t := range c.lines {
		next := candidate{key, t}
		if len(best) == c.q.K && better(next, best[len(best)-1]) >= 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, next, better)
		best = slices.Insert(best, at, next)
		best = best[:min(len(best), c.q.K)]
	}
	for _, b := range best {
		line, err := c.readAgain(text, size, b)
		if err != nil {
			return err
		}
		c.out.Lines = append(c.out.Lines, Line{Text: line, Count: b.count, Missed: b.missed})
	}
	return nil
}

// ErrChanged says that the text was changed while it was read.
var ErrChanged = errors.New("the text changed while it was read")

func (c *counter) readAgain(text io.ReaderAt, size int64, b candidate) (string, error) {
	line, _, err := nextLine(bufio.NewReaderSize(io.NewSectionReader(text, b.at, size-b.at), MaxLineBytes))
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	line = trim(line, b.at)
	if c.idOf(line) != b.id {
		return "", ErrChanged
	}
	return shown(line), nil
}

// shown is a line as it is answered.
func shown(line []byte) string {
	text := strings.ToValidUTF8(string(line), "\uFFFD")
	text = strings.ReplaceAll(text, "\x00", "\uFFFD")
	n := 0
	for at := range text {
		if n++; n > MaxShownRunes {
			return text[:at] + "…"
		}
	}
	return text
}
