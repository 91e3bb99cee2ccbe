// Package extract turns a decoded page into what a reader wants of it: the main
// content as text, links, images, a structured view, and metadata.
//
// A page is parsed once (Parse); every view is a pure function of that one
// tree. Nothing here fails: broken, empty and hostile pages give what can be
// read of them and a warning.
package extract
