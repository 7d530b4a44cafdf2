// Package storetest is where a store's promises are written: one suite of
// cases, named after what they keep, that every backend runs.
//
// What lives here: the cases, in basic, transactional, concurrent and fault
// parts; a small language in which they read like sentences (a fixture with a
// tenant, a pay period and a vendor; submit, claim, openFresh, answer); and the
// accountant, who recounts every batch from its lines after every step. What
// must not: SQL, drivers, knowledge of a backend's tables, and expectations that
// the contract's comments do not state. New behaviour of a store starts as a
// case here.
package storetest
