// Package postgres keeps the gateway's ledger in PostgreSQL, for one replica or
// many: internal/store's contract in SQL of its own, over a pool of connections.
//
// What lives here: the schema and its migrations, every statement of this
// dialect, the translation of the driver's errors into the contract's, and the
// session lock that refuses a second replica where only one may work. What must
// not: decisions about lines (payroll, retry, store's pure helpers take them),
// the other dialect's SQL, configuration, and anything that talks to a vendor.
//
// # Locks, always in this order
//
//	period row   writes from outside (intake, cancel, amendments) and Mirror
//	unit rows    by id; FOR KEY SHARE, which heartbeats pass and a take-over does not
//	token rows   by batch id; a worker's write takes its batch's alone
//
// What hangs below a token (lines, troubles, outcomes, attempts, letters) is
// written only under its lock, sorted by ordinal, so no two transactions can
// wait for each other.
//
// # Commits whose answer is lost
//
// Transactions know their own number before they commit, and the server is
// asked afterwards what became of it. Single statements (Open of fresh lines,
// Apply of clean ones) leave an attempt's row behind, which is read again.
package postgres
