package document

import "fmt"

// Reason is why a document cannot be read.
type Reason string

// Reasons.
const (
	// Unsupported is a format that is not read here.
	Unsupported Reason = "UNSUPPORTED_CONTENT_TYPE"
	// Encrypted is a document behind a password.
	Encrypted Reason = "DOCUMENT_ENCRYPTED"
	// Damaged is a document whose bytes are not what its format wants.
	Damaged Reason = "DOCUMENT_DAMAGED"
	// Empty is a document of no bytes.
	Empty Reason = "DOCUMENT_EMPTY"
	// TooLarge is a document that needs more memory or time than it may have.
	TooLarge Reason = "DOCUMENT_TOO_LARGE"
)

// Error says why a document cannot be read and what can be done about it.
type Error struct {
	Reason Reason
	// Type is the media type of the document.
	Type string
	// Words are for a person or a model.
	Words string
	// Err is what a library said; for logs.
	Err error
}

// Error implements error with the words alone.
func (e *Error) Error() string { return e.Words }

// Unwrap gives what a library said.
func (e *Error) Unwrap() error { return e.Err }

func damaged(err error, format string, args ...any) *Error {
	return &Error{Reason: Damaged, Words: fmt.Sprintf(format, args...), Err: err}
}

func tooLarge(format string, args ...any) *Error {
	return &Error{Reason: TooLarge, Words: fmt.Sprintf(format, args...)}
}
