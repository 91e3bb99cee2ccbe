package document

import "time"

// Limits that hold for every document.
const (
	// maxTime is how long one document may be read. What was read by then is
	// the answer, with a warning.
	maxTime = 20 * time.Second
	// heavyAtOnce is how many PDFs and Office files one Reader reads at the same
	// time; more wait.
	heavyAtOnce = 2
	// maxUnzipped is how many bytes an Office file may unpack to, all its parts
	// together, and maxPart one part of it that is read.
	maxUnzipped = 256 << 20
	maxPart     = 64 << 20
	// maxEntries is how many parts an Office file may have.
	maxEntries = 10_000
	// maxDepth is how deeply the elements of XML may nest.
	maxDepth = 256
	// maxCells is how many cells of tables are read, empty ones included.
	maxCells = 2_000_000
	// maxCell is the longest text of a cell, in bytes.
	maxCell = 32 << 10
	// maxColumns is how many columns of a table are read.
	maxColumns = 1000
	// maxPixels bounds nothing that is decoded, since no picture is; larger
	// numbers than this are lies.
	maxPixels = 1 << 30
)

// The PDF reader is a program of its own in a WebAssembly machine.
const (
	// pdfMemoryPages is the memory it may have, in pages of 64 KiB: 256 MiB.
	pdfMemoryPages = 4096
	// maxPDFPages is how many pages are read.
	maxPDFPages = 10_000
)
