// Package e2e holds the tests of the whole: the engine on real stores against a
// sandbox vendor, killed at named points and at random, judged by the vendor's
// own journal.
//
// Only tests live here, and what they share.
package e2e
