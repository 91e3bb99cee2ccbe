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
	// compile is tryOut, but for tests.
	compile func(context.Context, wazero.CompilationCache) error

	mu        sync.Mutex
	cache     wazero.CompilationCache
	compiling *compilation // nil before the first PDF, and after a failure
}

// compilation is the program being compiled, and once done is closed compiled.
type compilation struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error // guarded by done
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
	c := e.compiling
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
	e.compiling = c
	compiled := e.compiled()
	go func() {
		defer close(c.done)
		if c.err = e.compile(life, compiled); c.err == nil {
			return
		}
		c.err = fmt.Errorf("make the PDF reader ready: %w", c.err)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.compiling = nil // the next PDF tries again
	}()
	return c
}

// tryOut boots a machine and throws it away, which leaves the program compiled.
func tryOut(ctx context.Context, compiled wazero.CompilationCache) error {
	// By more than one worker it can also be cancelled.
	ctx, end := context.WithCancel(experimental.WithCompilationWorkers(ctx, max(2, runtime.GOMAXPROCS(0))))
	m := &machine{end: end}
	defer m.close()
	return m.boot(ctx, compiled)
}

// start makes a machine that lives as long as ctx; close it after use.
func (e *pdfEngine) start(ctx context.Context) (*machine, error) {
	e.mu.Lock()
	compiled := e.compiled()
	e.mu.Unlock()
	life, end := context.WithCancel(ctx)
	m := &machine{end: end}
	if err := m.boot(life, compiled); err != nil {
		m.close()
		return nil, fmt.Errorf("start the PDF reader: %w", err)
	}
	return m, nil
}

func (m *machine) boot(ctx context.Context, compiled wazero.CompilationCache) (err error) {
	m.pool, err = webassembly.Init(webassembly.Config{
		Context: ctx, MaxIdle: 1, MaxTotal: 1,
		RuntimeConfig: wazero.NewRuntimeConfig().
			WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling).
			WithCloseOnContextDone(true).WithMemoryLimitPages(pdfMemoryPages).WithCompilationCache(compiled),
		FSConfig: wazero.NewFSConfig(), // no files
		Stdout:   io.Discard, Stderr: io.Discard,
	})
	if err != nil {
		return err
	}
	m.Pdfium, err = m.pool.GetInstanceWithContext(ctx)
	return err
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
	c := e.compiling
	e.mu.Unlock()
	if c != nil {
		c.cancel()
		<-c.done
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cache == nil {
		return nil
	}
	err := e.cache.Close(context.Background())
	e.cache, e.compiling = nil, nil
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
