// Package store is the SQL database of one service: opened, migrated, read and
// written in one way everywhere.
//
// One database belongs to one service. Today that is a SQLite file in WAL mode;
// [Config.Driver] is the seam for a server database, so SQL stays portable:
// queries through bun, ids made by the client, times as unix milliseconds.
//
// # Reading
//
// [DB.Read] is a small pool of connections that cannot write. In WAL mode a
// reader sees the last committed state and neither waits for the writer nor
// holds it up.
//
// # Writing
//
// There is one writer. [DB.Write] hands it a closure and returns after the
// COMMIT that made the closure's changes durable:
//
//	err := db.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
//		_, err := tx.NewInsert().Model(&run).Exec(ctx)
//		return err
//	})
//
// A transaction costs about the same whether it holds one change or fifty, most
// of it waiting for the disk. So the writer commits at once when nobody else
// waits, and otherwise takes in whoever came meanwhile, at most 64, before it
// commits: group commit without a timer. Each closure has a savepoint of its
// own, so a closure that fails or panics undoes only itself.
//
// Rules for a closure: it uses the ctx and tx it was given and nothing else of
// the database; it does no I/O and no RPC, for every other write waits behind
// it; it may be run a second time when the shared transaction was lost through
// no fault of its own, so it sets what it captures instead of adding to it.
package store
