// Package taint carries where untrusted text came from. Untrusted is a property
// of data: a set of origins stands beside each message, result and run, and
// flows with the data, so that code and not a model decides what may follow.
package taint

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/storable"
)

// MaxOrigins bounds a set. Beyond it the set keeps the marker Many, so that a
// set never looks cleaner than it is.
const MaxOrigins = 64

// Many stands in a set for origins that did not fit.
const Many = "many:*"

// maxOriginBytes bounds one origin.
const maxOriginBytes = 300

// Set is a sorted set of origins such as "fetch_page:example.com". The nil Set
// is empty: trusted. Sets are values: no method changes one.
type Set []string

// New makes a set of the origins given.
func New(origins ...string) Set { return Set(nil).With(origins...) }

// With is s and the origins given.
func (s Set) With(origins ...string) Set {
	if len(origins) == 0 {
		return s
	}
	all := slices.Clone(s)
	for _, o := range origins {
		if o = clip(o); o != "" {
			all = append(all, o)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) > MaxOrigins {
		all = append(all[:MaxOrigins-1:MaxOrigins-1], Many)
		slices.Sort(all)
		all = slices.Compact(all)
	}
	return all
}

// clip makes an origin fit to be stored and sent, also where it is cut to its
// bounded length. What cannot be read still counts.
func clip(origin string) string {
	origin = storable.Text(origin)
	if len(origin) > maxOriginBytes {
		origin = strings.ToValidUTF8(origin[:maxOriginBytes], "")
	}
	return origin
}

// Tainted reports whether any untrusted text is in what the set stands beside.
func (s Set) Tainted() bool { return len(s) > 0 }

// Value stores the set as a JSON array.
func (s Set) Value() (driver.Value, error) {
	if len(s) == 0 {
		return "[]", nil
	}
	b, err := json.Marshal([]string(s))
	return string(b), err
}

// Scan reads what Value stored.
func (s *Set) Scan(src any) error {
	var text []byte
	switch v := src.(type) {
	case nil:
	case string:
		text = []byte(v)
	case []byte:
		text = v
	default:
		return fmt.Errorf("taint: cannot read origins from %T", src)
	}
	*s = nil
	if len(text) == 0 {
		return nil
	}
	var all []string
	if err := json.Unmarshal(text, &all); err != nil {
		return fmt.Errorf("taint: origins are not a JSON array: %w", err)
	}
	*s = New(all...)
	return nil
}
