package httpfetch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

const (
	// maxCodings is how many content codings may be stacked. Two happen by
	// mistake (a proxy compresses again); three are an attack.
	maxCodings = 2
	// maxRatio is the growth over the raw body that is believed once
	// ratioFrom bytes have come out of a layer.
	maxRatio  = 100
	ratioFrom = 1 * mib
	// zstdWindow bounds the history a zstd frame may ask for (RFC 8878
	// section 3.1.1.1.2 recommends decoders to support 8 MiB).
	zstdWindow = 8 * mib
)

var (
	// errBomb is wrapped where a body grows beyond belief: nothing of it is
	// kept.
	errBomb = errors.New("compression bomb")
	// errLimit is where a body is longer than is read: its begin is kept.
	errLimit = errors.New("the body is longer than is read")
)

// contentCodings reads Content-Encoding fields: lower case, in the order in
// which they were applied, without identity.
func contentCodings(fields []string) ([]string, error) {
	var out []string
	for _, field := range fields {
		for _, name := range strings.Split(field, ",") {
			name = strings.ToLower(strings.TrimSpace(name))
			switch name {
			case "", "identity", "none", "utf-8":
				// The last two are no codings, but servers send them.
			case "x-gzip":
				out = append(out, "gzip")
			case "gzip", "br", "zstd", "deflate":
				out = append(out, name)
			default:
				return nil, fmt.Errorf("unknown content coding %.40q", name)
			}
		}
	}
	if len(out) > maxCodings {
		return nil, fmt.Errorf("%d content codings are stacked, at most %d are decoded", len(out), maxCodings)
	}
	return out, nil
}

// meter counts and bounds the raw body, and remembers why reading stopped when
// it was not a decoder's doing: the network or a limit.
type meter struct {
	r      io.Reader
	n, max int64
	err    error
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.n += int64(n)
	if over := m.n - m.max; over > 0 {
		m.n, m.err = m.max, errLimit
		return n - int(over), errLimit
	}
	if err != nil && err != io.EOF {
		m.err = err
	}
	return n, err
}

// layer bounds what comes out of one decoder: by size, and by its growth over
// the raw body, which catches a bomb long before the size does.
type layer struct {
	r      io.Reader
	raw    *meter
	n, max int64
}

func (l *layer) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	l.n += int64(n)
	switch {
	case l.n > ratioFrom && l.n > maxRatio*l.raw.n:
		l.raw.err = fmt.Errorf("%w: %d bytes on the wire grew to more than %d", errBomb, l.raw.n, l.n)
		return 0, l.raw.err
	case l.n > l.max:
		over := int(l.n - l.max)
		l.n, l.raw.err = l.max, errLimit
		return n - over, errLimit
	}
	return n, err
}

// decoder is the chain of layers over one raw body.
type decoder struct {
	io.Reader
	warnings []string
	closers  []func()
}

func (d *decoder) close() {
	for _, c := range d.closers {
		c()
	}
}

// newDecoder undoes codings, the last applied first.
func newDecoder(raw *meter, codings []string, maxDecoded int64) (*decoder, error) {
	d := &decoder{Reader: raw}
	for i := len(codings) - 1; i >= 0; i-- {
		r, err := d.open(codings[i])
		if err != nil {
			d.close()
			return nil, fmt.Errorf("content coding %s: %w", codings[i], err)
		}
		if r != nil {
			d.Reader = &layer{r: r, raw: raw, max: maxDecoded}
		}
	}
	return d, nil
}

// open puts one decoder on top of the chain. A body that is not in the coding
// its header names passes through with a warning: servers do that, and the
// text is readable.
func (d *decoder) open(coding string) (io.Reader, error) {
	src := bufio.NewReader(d.Reader)
	head, err := src.Peek(4)
	d.Reader = src
	if len(head) == 0 {
		if err == io.EOF {
			return nil, nil
		}
		return nil, err
	}
	switch coding {
	case "gzip":
		if !bytes.HasPrefix(head, []byte{0x1f, 0x8b}) {
			return nil, d.notCoded(coding)
		}
		return gzip.NewReader(src)
	case "zstd":
		if !isZstd(head) {
			return nil, d.notCoded(coding)
		}
		z, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderMaxMemory(4*zstdWindow))
		if err != nil {
			return nil, err
		}
		d.closers = append(d.closers, z.Close)
		return z, nil
	case "br":
		return brotli.NewReader(src), nil
	default:
		// "deflate" means zlib (RFC 9110 section 8.4.1.2); some servers send
		// the bare stream.
		if isZlib(head) {
			return zlib.NewReader(src)
		}
		return flate.NewReader(src), nil
	}
}

func (d *decoder) notCoded(coding string) error {
	d.warnings = append(d.warnings, fmt.Sprintf("not_coded: the body is not %s although its header says so; read as it is", coding))
	return nil
}

// isZlib checks the two header bytes of RFC 1950 section 2.2.
func isZlib(head []byte) bool {
	return len(head) >= 2 && head[0]&0x0f == 8 && head[0]>>4 <= 7 && (uint(head[0])<<8|uint(head[1]))%31 == 0
}

// isZstd tells a frame or a skippable frame (RFC 8878 section 3.1).
func isZstd(head []byte) bool {
	if len(head) < 4 {
		return false
	}
	magic := uint32(head[0]) | uint32(head[1])<<8 | uint32(head[2])<<16 | uint32(head[3])<<24
	return magic == 0xFD2FB528 || magic&0xFFFFFFF0 == 0x184D2A50
}

// buffers are what bodies are read into before their length is known; one that
// has grown beyond keptBuffer bytes is not kept.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

const keptBuffer = 1 * mib

// readAll reads the chain to its end. cut is true when the body ended before
// its time: what came is kept.
func (d *decoder) readAll(raw *meter, sizeHint int64) (body []byte, cut bool, err error) {
	buf := buffers.Get().(*bytes.Buffer)
	defer func() {
		if buf.Cap() <= keptBuffer {
			buf.Reset()
			buffers.Put(buf)
		}
	}()
	if sizeHint > 0 {
		buf.Grow(int(min(sizeHint, 1*mib)) + bytes.MinRead)
	}
	_, err = buf.ReadFrom(d)
	body = bytes.Clone(buf.Bytes())
	switch {
	case err == nil:
		return body, false, nil
	case errors.Is(raw.err, errBomb):
		return nil, false, raw.err
	case errors.Is(err, gzip.ErrHeader) && len(body) > 0 && raw.err == nil:
		return body, false, nil // padding behind a whole gzip member
	case len(body) > 0:
		return body, true, err
	default:
		return nil, false, err
	}
}
