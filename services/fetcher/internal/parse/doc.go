// Package parse turns the bytes of a page into a tree, in bounded time and
// whatever the bytes are: it cannot fail. What it could not read whole is told
// in a warning.
package parse
