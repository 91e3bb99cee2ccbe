package output

// blockBytes is the size of the blocks that a stream is kept in.
const blockBytes = 64 << 10

// stream is what is kept of one stream.
type stream struct {
	head   []byte   // the first EdgeBytes
	blocks [][]byte // what comes last, in order; bytes in them never change
	base   int64    // where the first block begins
	total  int64
}

// write keeps at most blockBytes. Blocks beyond LiveBytes go that the slowest
// reader does not need.
func (s *stream) write(p []byte, slowest int64) {
	s.head = append(s.head, p[:min(len(p), EdgeBytes-len(s.head))]...)
	s.total += int64(len(p))
	for len(p) > 0 {
		last := len(s.blocks) - 1
		if last < 0 || len(s.blocks[last]) == blockBytes {
			s.blocks = append(s.blocks, make([]byte, 0, min(blockBytes, max(len(p), minBlockBytes))))
			last++
		}
		n := min(blockBytes-len(s.blocks[last]), len(p))
		s.blocks[last] = append(s.blocks[last], p[:n]...)
		p = p[n:]
	}
	for {
		end := s.base + int64(len(s.blocks[0]))
		if s.total-end < LiveBytes || end > slowest {
			return
		}
		s.blocks[0] = nil
		s.blocks, s.base = s.blocks[1:], end
	}
}

// minBlockBytes is what a block begins with: most programs write little.
const minBlockBytes = 4 << 10

// from is what comes next after a place that is kept, at most pieceBytes.
func (s *stream) from(at int64) []byte {
	skip := at - s.base
	var out []byte
	for _, b := range s.blocks {
		if skip >= int64(len(b)) {
			skip -= int64(len(b))
			continue
		}
		part := b[skip:len(b):len(b)]
		skip = 0
		if out == nil {
			out = part
		} else {
			out = append(out, part...)
		}
		if len(out) >= pieceBytes {
			return out[:pieceBytes:pieceBytes]
		}
	}
	return out
}

// text is the stream with its beginning and end.
func (s *stream) text() Text {
	if s.total <= 2*EdgeBytes {
		return Text{Head: Clean(s.last(s.total))}
	}
	head, tail := wholeRunes(s.head), fromRune(s.last(EdgeBytes))
	return Text{Head: Clean(head), Tail: Clean(tail), LeftOut: s.total - int64(len(head)) - int64(len(tail))}
}

// last is the last n bytes, which must be kept.
func (s *stream) last(n int64) []byte {
	out := make([]byte, 0, n)
	skip := s.total - n - s.base
	for _, b := range s.blocks {
		from := min(skip, int64(len(b)))
		out = append(out, b[from:]...)
		skip -= from
	}
	return out
}
