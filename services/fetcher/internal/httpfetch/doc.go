// Package httpfetch gets one document over HTTP for people who did not choose
// the server: every address is checked before and while dialling, every size
// and every wait has a limit, and every failure has a kind.
//
// The package knows nothing about what a body means: charset, content type and
// extraction are other packages. What a server answers is a Response, whatever
// its status; an *Error means that there is no answer to speak of.
package httpfetch
