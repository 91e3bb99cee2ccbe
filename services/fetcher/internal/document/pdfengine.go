package document

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"

	"github.com/klippa-app/go-pdfium"
	pdfiumerrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// pdfEngine runs PDFium in a WebAssembly machine: a PDF that breaks it breaks a
// machine without files and network, whose memory is bounded and that ends with
// its context. Every document has a machine of its own; the compiled program is
// shared, and made at the first PDF.
type pdfEngine struct {
	cacheDir string
	// boot is boot, but for tests.
	boot func(context.Context, wazero.CompilationCache) (*machine, error)

	mu    sync.Mutex
	cache wazero.CompilationCache
	made  *compilation // nil before the first PDF, and after a failure
}

// compilation is the program being compiled, by booting the first machine; once
// done is closed it is compiled.
type compilation struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error    // guarded by done
	first  *machine // guarded by done, then by mu; nil when it is used
}

// machine is PDFium for one document.
type machine struct {
	pdfium.Pdfium
	pool pdfium.Pool
	end  context.CancelFunc
}

// prepare returns once the program is compiled, which takes seconds and some
// 300 MB, once. That goes on when ctx ends: whoever comes next has less to wait.
func (e *pdfEngine) prepare(ctx context.Context) error {
	e.mu.Lock()
	c := e.made
	if c == nil {
		c = e.begin()
	}
	e.mu.Unlock()
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// begin begins to compile. The caller holds mu.
func (e *pdfEngine) begin() *compilation {
	life, cancel := context.WithCancel(context.Background())
	c := &compilation{cancel: cancel, done: make(chan struct{})}
	e.made = c
	compiled := e.compiled()
	go func() {
		defer close(c.done)
		if c.first, c.err = e.boot(life, compiled); c.err == nil {
			return
		}
		cancel()
		c.err = fmt.Errorf("make the PDF reader ready: %w", c.err)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.made = nil // the next PDF tries again
	}()
	return c
}

// start makes a machine that lives as long as ctx; prepare comes before it, and
// close after use.
func (e *pdfEngine) start(ctx context.Context) (*machine, error) {
	e.mu.Lock()
	m, compiled := e.made.first, e.compiled()
	e.made.first = nil
	e.mu.Unlock()
	if m != nil {
		context.AfterFunc(ctx, m.end)
		return m, nil
	}
	m, err := e.boot(ctx, compiled)
	if err != nil {
		return nil, fmt.Errorf("start the PDF reader: %w", err)
	}
	return m, nil
}

// boot starts a machine, and compiles the program first where that was not done.
func boot(ctx context.Context, compiled wazero.CompilationCache) (*machine, error) {
	// By more than one worker, compiling can also be cancelled.
	life, end := context.WithCancel(experimental.WithCompilationWorkers(ctx, max(2, runtime.GOMAXPROCS(0))))
	m := &machine{end: end}
	var err error
	m.pool, err = webassembly.Init(webassembly.Config{
		Context: life, MaxIdle: 1, MaxTotal: 1,
		RuntimeConfig: wazero.NewRuntimeConfig().
			WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling).
			WithCloseOnContextDone(true).WithMemoryLimitPages(pdfMemoryPages).WithCompilationCache(compiled),
		FSConfig: wazero.NewFSConfig(), // no files
		Stdout:   io.Discard, Stderr: io.Discard,
	})
	if err == nil {
		m.Pdfium, err = m.pool.GetInstanceWithContext(life)
	}
	if err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

func (m *machine) close() {
	if m.pool != nil {
		_ = m.pool.Close() // a machine that was stopped cannot say goodbye
	}
	m.end()
}

// compiled keeps the program in the cache folder, so that the next process does
// not compile it again; without a folder in memory alone. The caller holds mu.
func (e *pdfEngine) compiled() wazero.CompilationCache {
	if e.cache == nil && e.cacheDir != "" && os.MkdirAll(e.cacheDir, 0o700) == nil {
		if c, err := wazero.NewCompilationCacheWithDir(e.cacheDir); err == nil {
			e.cache = c
		}
	}
	if e.cache == nil {
		e.cache = wazero.NewCompilationCache()
	}
	return e.cache
}

func (e *pdfEngine) close() error {
	e.mu.Lock()
	c := e.made
	e.mu.Unlock()
	if c != nil {
		c.cancel()
		<-c.done
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if c != nil && c.first != nil {
		c.first.close()
	}
	if e.cache == nil {
		return nil
	}
	err := e.cache.Close(context.Background())
	e.cache, e.made = nil, nil
	return err
}

// pageText reads one page, from 0 on.
func (m *machine) pageText(doc *requests.FPDF_LoadPage) (string, error) {
	page, err := m.FPDF_LoadPage(doc)
	if err != nil {
		return "", err
	}
	defer func() { _, _ = m.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: page.Page}) }()
	text, err := m.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: requests.Page{ByReference: &page.Page}})
	if err != nil {
		return "", err
	}
	defer func() { _, _ = m.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: text.TextPage}) }()
	n, err := m.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: text.TextPage})
	if err != nil || n.Count <= 0 {
		return "", err
	}
	got, err := m.FPDFText_GetText(&requests.FPDFText_GetText{TextPage: text.TextPage, Count: n.Count})
	if err != nil {
		return "", err
	}
	return got.Text, nil
}

// isEncrypted says that PDFium wants a password, or does not know the cipher.
func isEncrypted(err error) bool {
	return errors.Is(err, pdfiumerrors.ErrPassword) || errors.Is(err, pdfiumerrors.ErrSecurity)
}
