// Package dirpage reads a folder of any size a page at a time, in the order of
// the names, with the memory of one page.
package dirpage

import (
	"container/heap"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
)

// batch is how many names are read from the folder at once.
const batch = 1024

// Read answers the first limit names of dir after the given one, in the order of
// their bytes, and whether there are more. The names are as the file system has
// them: any bytes but / and zero. dir must be newly opened.
func Read(ctx context.Context, dir *os.File, after string, limit int) (names []string, more bool, err error) {
	var first largestFirst // the smallest limit+1 names that were seen
	for {
		found, err := dir.Readdirnames(batch)
		for _, name := range found {
			switch {
			case name <= after:
			case len(first) <= limit:
				heap.Push(&first, name)
			case name < first[0]:
				first[0] = name
				heap.Fix(&first, 0)
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist) { // the folder itself was removed
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, false, err
		}
	}
	if more = len(first) > limit; more {
		heap.Pop(&first)
	}
	names = make([]string, len(first))
	for i := len(first) - 1; i >= 0; i-- {
		names[i] = heap.Pop(&first).(string)
	}
	return names, more, nil
}

// largestFirst is a heap of names.
type largestFirst []string

func (h largestFirst) Len() int           { return len(h) }
func (h largestFirst) Less(i, j int) bool { return h[i] > h[j] }
func (h largestFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *largestFirst) Push(x any)        { *h = append(*h, x.(string)) }
func (h *largestFirst) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
