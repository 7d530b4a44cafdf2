// Package sqlite keeps the ledger in one SQLite file, for a gateway that is one
// process: the embedded store.
//
// What lives here: SQL for SQLite, its migrations, and the order of writes. What
// must not: decisions about lines (they come as functions of payroll, retry and
// store), SQL for another database, and anything that talks to a vendor.
//
// # How it writes
//
// One connection writes, one transaction at a time, begun IMMEDIATE; who wants
// to write waits in its queue, as long as the context allows. Inside, nobody
// else writes, so reading the token row and comparing its epoch is the fence.
// Every change of lines goes through edit.apply, which moves rows, counts and
// amounts together; every token is written by tx.save. Readers have connections
// of their own and see the last commit (WAL); they never wait for the writer.
//
// The file belongs to one Store at a time: the caller locks its directory.
package sqlite
