package content

import (
	"golang.org/x/net/html/atom"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/clean"
)

const (
	consentShare   = 0.4  // share of the page that a box named after consent may have
	consentMost    = 0.9  // the same of one without a heading of the page in it
	consentLetters = 8000 // letters that it may have
)

// leaveOutOverlays marks the boxes that ask for consent. They are often the
// longest prose of a short page.
func (f *finder) leaveOutOverlays() {
	f.t.Restore()
	f.t.Measure()
	page := float64(f.rows[0].Sum.Letters)
	for i := int32(1); i < int32(len(f.rows)); i++ {
		r := &f.rows[i]
		if r.Hints()&clean.HintConsent == 0 || r.Sum.Letters > consentLetters {
			continue
		}
		n := float64(r.Sum.Letters)
		if n <= consentShare*page || (n <= consentMost*page && !f.holdsContent(i)) {
			r.Flags |= clean.Overlay
			i = r.End - 1
		}
	}
}

// holdsContent says whether a row is or holds what a page has its content in.
func (f *finder) holdsContent(i int32) bool {
	for k := i; k < f.rows[i].End; k++ {
		switch r := &f.rows[k]; r.Tag {
		case atom.H1, atom.Main, atom.Article:
			return true
		}
	}
	return false
}
