// Package effectkeys remembers the calls of keyed and queryable tools in the SQL
// database of the service that has them, so that a call has one effect also
// when its process dies: it is a [toolkit.KeyStore].
//
// The service's own migrations make the two tables. What they hold:
//
//	effect_keys    one row a call. Retention: 7 days after the call's end.
//	effect_owners  one row a process on a server that replicas share, with the
//	               time until which it is known to live. Retention: 7 days after
//	               that.
//
// The statements that make them are those of [Migrations], to be copied.
//
// A call that was running when its process ended is lost: nobody knows how far
// it came. A SQLite database has one process, so whoever starts on it calls
// [Store.FreeAll] before it serves. On a server each process says with
// [Store.Run] that it lives, and calls of one that fell silent are answered as
// lost; should it come back and finish them, they are finished.
package effectkeys
