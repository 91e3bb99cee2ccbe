// Package blob keeps bodies, artefacts and spilled results outside the database:
// in a folder of this machine, and in an object store when there are several.
//
// A key is a path of one or more segments, "crawl/01J.../9f2c...": see
// [CheckKey]. A blob appears whole or not at all; putting a key again replaces
// it. What is stored is found again by keys kept in SQL; there is no listing.
//
// A blob survives a crash of the process at any moment. A folder leaves the
// flushing to the operating system, so a power cut may take the last blobs; a
// reader treats a missing blob as gone, not as a fault.
package blob
