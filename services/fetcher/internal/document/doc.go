// Package document reads what is no web page: PDF, Word, Excel and PowerPoint
// files, CSV, JSON, feeds, images and plain text. Each format turns its bytes
// into the same thing, a Document, whose views (text, Markdown, tables) do not
// know where it came from.
//
// The bytes are somebody else's: every format is bounded in memory and time, and
// what breaks a library is an error, never a panic. See Limits.
package document
