// Package charset finds the character encoding of a page and turns the page
// into UTF-8.
//
// The order of belief is: byte order mark, Content-Type, meta element or XML
// declaration (wherever it stands in the first 64 KiB, but not in a comment),
// then what the bytes are. A declaration that the bytes contradict is skipped:
// one bad byte or a character cut at the end does not contradict it.
//
// Names are those of the WHATWG Encoding Standard in lower case, so gb2312 is
// gbk and ISO-8859-1 is windows-1252.
package charset
