package extract

import "github.com/nanoclaw/nanoclaw/services/fetcher/internal/markdown"

// addresses gives each address of a list once. What is asked of it costs no more
// than reading the page does: a short relative address stands for a base of any
// length, thousands of times.
type addresses struct {
	d      *Document
	byRef  map[string]int // as the page writes them; -1 leads nowhere
	byFull map[string]int
	bytes  int // of all full ones
}

func (d *Document) newAddresses() *addresses {
	d.leftOut = 0
	return &addresses{d: d, byRef: map[string]int{}, byFull: map[string]int{}}
}

// find says which entry of the list has the address. Of one that is new, next is
// its entry, and full what it leads to; at is -1 where it leads nowhere.
func (a *addresses) find(ref string, next int) (at int, full string) {
	if at, known := a.byRef[ref]; known {
		return at, ""
	}
	if a.bytes > markdown.MaxAddresses || len(ref) > markdown.MaxAddress {
		a.d.leftOut++
		return -1, ""
	}
	u := resolve(a.d.base, ref)
	if u == nil {
		a.byRef[ref] = -1
		return -1, ""
	}
	full = u.String()
	a.bytes += len(full)
	if at, known := a.byFull[full]; known {
		a.byRef[ref] = at
		return at, ""
	}
	a.byRef[ref], a.byFull[full] = next, next
	return next, full
}

// LeftOut is how many entries the list lacks that was asked for last, links or
// images, since their addresses are too long, each or all together.
func (d *Document) LeftOut() int { return d.leftOut }
