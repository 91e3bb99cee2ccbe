// Package clean looks at every element of a page once and writes what it finds
// into a table: what it is, whether a reader sees it, what its class and id
// hint at, how much text it holds. The stages behind it decide on the table,
// by number, and touch the tree no more.
package clean
