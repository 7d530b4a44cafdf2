// Package store is the contract of the gateway's durable memory: small
// interfaces by consumer, their parameters, and their sentinels. The promises
// are written as cases in storetest, which every backend passes.
//
// What lives here: interfaces, parameter types, errors, and pure helpers that
// both backends share. What must not: SQL, drivers, decisions about lines
// (payroll, retry) and anything that talks to a vendor.
//
// # How lines are stored
//
// Where a line stands is which table names it: untouched (only in lines), in a
// chunk (an open attempt), in trouble (troubles), ended (outcomes). Nothing is
// written for a line before something happened to it, and nothing wide is ever
// updated. StateOf is that rule in Go; the backends have it in SQL.
//
// # How writes are fenced
//
// A worker's write begins with an UPDATE of its batch's token row conditional
// on the epoch; zero rows is ErrFenced and nothing is written. Opening an
// attempt is conditional on change_seq too, which every write from outside
// raises (ErrChanged: read again, plan again). Writes from outside (intake,
// cancel, amendments) first lock the period, then tokens in batch order.
//
// Every method owns its transaction, none makes an HTTP call in one, and a
// COMMIT whose answer was lost is re-read, not assumed.
package store
