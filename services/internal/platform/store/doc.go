// Package store is the SQL database of one service: opened, migrated, read and
// written in one way everywhere.
//
// One database belongs to one service. [Config.Driver] says where it is: a
// SQLite file in WAL mode, for a process that has its data folder to itself, or
// a database on a MySQL or MariaDB server, which replicas share. SQL stays
// portable: queries through bun, ids made by the client, times as unix
// milliseconds, a folder of migrations for each driver where they differ. What
// both do the same way is written down in the tests of storetest.
//
// # Reading
//
// [DB.Read] is a small pool of connections that cannot write. A reader sees the
// last committed state and neither waits for writes nor holds them up.
//
// # Writing
//
// [DB.Write] takes a closure and returns after the COMMIT that made the
// closure's changes durable:
//
//	err := db.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
//		_, err := tx.NewInsert().Model(&run).Exec(ctx)
//		return err
//	})
//
// On SQLite there is one writer. A transaction costs about the same whether it
// holds one change or fifty, most of it waiting for the disk. So the writer
// commits at once when nobody else waits, and otherwise takes in whoever came
// meanwhile, at most 64, before it commits: group commit without a timer. Each
// closure has a savepoint of its own, so a closure that fails or panics undoes
// only itself.
//
// On a server closures run side by side, each in a transaction of its own at
// READ COMMITTED. Two of them may read a row before either changes it, so who
// decides by a row locks it ([ForUpdate]). A closure that a deadlock, a lock
// wait or a lost connection has undone is run again, after short pauses and not
// without end; after a COMMIT whose answer was lost it is not
// ([ErrUnknownCommit]). Leases go by [DB.NowMillis].
//
// Rules for a closure: it uses the ctx and tx it was given and nothing else of
// the database; it does no I/O and no RPC, for other writes wait behind it; it
// may be run again when its transaction was lost through no fault of its own, so
// it sets what it captures instead of adding to it; it returns the errors of its
// statements, or handles them.
package store
