// Package extract turns a decoded page into what a reader wants of it: the main
// content, links, images, a structured view, and metadata.
//
// A page goes through four stages, on one tree of nodes:
//
//	parse    bytes to the tree, in bounded time
//	clean    a table of the elements: what each is, hints at, holds; what is hidden
//	content  which of them are the content, by the table alone
//	extract  views of the tree: this package, and markdown on the same content
//
// Every view is a pure function of the tree. Nothing here fails: broken, empty
// and hostile pages give what can be read of them and a warning.
package extract
