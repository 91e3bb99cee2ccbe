package jsonapi

import "encoding/json"

// Maybe is a part of an answer that counts as long as it is of the known form
// and stands there once: otherwise its value is the zero one, and the rest of the
// answer is read all the same.
type Maybe[T any] struct {
	Value T
	// There says that something stands there, of whatever form.
	There bool
	named bool
}

// UnmarshalJSON implements json.Unmarshaler. It never fails.
func (m *Maybe[T]) UnmarshalJSON(b []byte) error {
	again := m.named
	*m = Maybe[T]{There: string(b) != "null" || m.There, named: true}
	var v T
	if !again && json.Unmarshal(b, &v) == nil {
		m.Value = v
	}
	return nil
}

// List is a list of rows, each read on its own: one that is not of the known
// form is the zero row, which has neither title nor address and is counted as
// such (adapter.Rows), and the others are read all the same.
type List[T any] struct {
	Rows []T
	// There says that a list stands there, be it an empty one, and only once:
	// of two lists of one name nobody can say which one counts.
	There bool
	named bool
}

// UnmarshalJSON implements json.Unmarshaler. It never fails.
func (l *List[T]) UnmarshalJSON(b []byte) error {
	again := l.named
	*l = List[T]{named: true}
	var items []json.RawMessage
	if again || json.Unmarshal(b, &items) != nil || items == nil {
		return nil
	}
	l.There, l.Rows = true, make([]T, len(items))
	for i, item := range items {
		var row T
		if json.Unmarshal(item, &row) == nil {
			l.Rows[i] = row
		}
	}
	return nil
}

// Empty reports whether there is a list and nothing in it.
func (l List[T]) Empty() bool { return l.There && len(l.Rows) == 0 }
