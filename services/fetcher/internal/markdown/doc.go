// Package markdown writes CommonMark with the tables, task lists, strikethrough
// and footnotes of GitHub's dialect from a tree of HTML, in one walk.
//
// Text never turns into structure: what would be read as Markdown is escaped,
// and words stand apart exactly where a browser shows them apart. What Markdown
// has no sign for and GitHub passes through stays the tag it was: sub, sup, kbd,
// mark and ins.
package markdown
