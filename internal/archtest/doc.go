// Package archtest keeps the shape of the house: which package may import which,
// who may touch the environment and the databases' drivers, and what no test may
// do. The tables in rooms.go are the shape, each entry with its reason; rules.go
// compares them with the source; to change the shape is to change a table.
//
// It reads source files rather than asking the go command for a package graph,
// so that files behind build tags (fault injection, other platforms) obey too.
// Checks of behaviour do not belong here, and nothing imports this package.
package archtest
