package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// Bucket stores blobs. It is safe for concurrent use.
type Bucket interface {
	// Put stores data under key, replacing what was there. contentType may be
	// empty; a folder does not keep it.
	Put(ctx context.Context, key string, data []byte, contentType string) error
	// Get answers the whole blob, or ErrNotFound.
	Get(ctx context.Context, key string) ([]byte, error)
	// GetRange answers up to n bytes from off on, and the length of the whole
	// blob. A negative n means to the end; an off at or behind the end gives no
	// bytes and no error.
	GetRange(ctx context.Context, key string, off, n int64) (data []byte, total int64, err error)
	// Delete removes a blob. Removing what is not there is no error.
	Delete(ctx context.Context, key string) error
	// Close ends the use of the bucket.
	Close() error
}

var (
	// ErrNotFound says that there is no blob under the key.
	ErrNotFound = errors.New("blob not found")
	// ErrInvalidKey says that the key breaks the rules of CheckKey.
	ErrInvalidKey = errors.New("invalid blob key")
	// ErrUnavailable says that the store cannot be reached, is overloaded or
	// has no room: the same may well succeed later. A refusal, such as of keys
	// or of a bucket that is not there, is not meant.
	ErrUnavailable = errors.New("the blob store is not available")
)

const (
	maxKeyBytes     = 512
	maxSegmentBytes = 200 // with an escape and a suffix still a file name

	// metadataSuffix is taken by the driver for folders.
	metadataSuffix = ".attrs"
)

// CheckKey tells whether a key means the same in every kind of store: 1 to 512
// bytes of UTF-8 without control characters and backslashes, in segments of 1
// to 200 bytes separated by "/", none of them "." or "..", not ending in
// ".attrs". The error is an ErrInvalidKey.
//
// One more rule cannot be checked here: no key is a whole beginning of another
// ("a" and "a/b"), as a folder cannot hold both.
func CheckKey(key string) error {
	invalid := func(why string) error { return fmt.Errorf("%w %q: %s", ErrInvalidKey, shown(key), why) }
	switch {
	case key == "":
		return invalid("is empty")
	case len(key) > maxKeyBytes:
		return invalid(fmt.Sprintf("is longer than %d bytes", maxKeyBytes))
	case !utf8.ValidString(key):
		return invalid("is not UTF-8")
	case strings.ContainsFunc(key, func(r rune) bool { return r == '\\' || unicode.IsControl(r) }):
		return invalid("has a backslash or a control character")
	case strings.HasSuffix(key, metadataSuffix):
		return invalid("must not end in " + metadataSuffix)
	}
	for segment := range strings.SplitSeq(key, "/") {
		switch {
		case segment == "" || segment == "." || segment == "..":
			return invalid(`has a segment that is empty, "." or ".."`)
		case len(segment) > maxSegmentBytes:
			return invalid(fmt.Sprintf("has a segment of more than %d bytes", maxSegmentBytes))
		}
	}
	return nil
}

func shown(key string) string {
	const maxShown = 80
	if len(key) > maxShown {
		return key[:maxShown] + "…"
	}
	return key
}

// portable makes one behaviour out of the drivers'.
type portable struct {
	bucket *blob.Bucket
	// end closes what the driver leaves open; nil: nothing.
	end func()
}

func (p *portable) Put(ctx context.Context, key string, data []byte, contentType string) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	return explain("put", key, p.bucket.WriteAll(ctx, key, data, &blob.WriterOptions{
		ContentType: contentType,
		BeforeWrite: makePrivate,
	}))
}

// makePrivate closes a file to others before anything is in it.
func makePrivate(as func(any) bool) error {
	var file *os.File
	if !as(&file) {
		return nil // not a folder
	}
	const private = 0o600
	return file.Chmod(private)
}

func (p *portable) Get(ctx context.Context, key string) ([]byte, error) {
	data, _, err := p.GetRange(ctx, key, 0, -1)
	return data, err
}

func (p *portable) GetRange(ctx context.Context, key string, off, n int64) ([]byte, int64, error) {
	if err := CheckKey(key); err != nil {
		return nil, 0, err
	}
	if off < 0 {
		return nil, 0, fmt.Errorf("blob: get %q: the offset %d is negative", key, off)
	}
	if n == 0 { // the S3 driver asks for a byte and leaves its connection open
		return p.nothing(ctx, key)
	}
	reader, err := p.bucket.NewRangeReader(ctx, key, off, n, nil)
	if isBeyondEnd(err) {
		return p.nothing(ctx, key)
	}
	if err != nil {
		return nil, 0, explain("get", key, err)
	}
	defer reader.Close()
	data, err := io.ReadAll(reader)
	if err != nil {
		return nil, 0, explain("get", key, err)
	}
	return data, reader.Size(), nil
}

// nothing answers a range without bytes.
func (p *portable) nothing(ctx context.Context, key string) ([]byte, int64, error) {
	at, err := p.bucket.Attributes(ctx, key)
	if err != nil {
		return nil, 0, explain("get", key, err)
	}
	return nil, at.Size, nil
}

func (p *portable) Delete(ctx context.Context, key string) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	err := p.bucket.Delete(ctx, key)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil
	}
	return explain("delete", key, err)
}

func (p *portable) Close() error {
	err := p.bucket.Close()
	if p.end != nil {
		p.end()
	}
	return err
}

// isFull tells that a folder has no room.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// explain says what was being done and, where it is known, what to do.
func explain(doing, key string, err error) error {
	if err == nil {
		return nil
	}
	if hint := s3Hint(err); hint != "" {
		return fmt.Errorf("blob: %s %q: %s: %w", doing, key, hint, err)
	}
	if gcerrors.Code(err) == gcerrors.NotFound {
		return fmt.Errorf("blob: %s %q: %w", doing, key, ErrNotFound)
	}
	if isFull(err) || isAwayS3(err) {
		return fmt.Errorf("blob: %s %q: %w: %w", doing, key, ErrUnavailable, err)
	}
	return fmt.Errorf("blob: %s %q: %w", doing, key, err)
}
