// Package resume decides who works: it claims units with unfinished batches,
// keeps the claim alive while a task works on them, gives it back at the end,
// and takes over from owners that died. What the work is, is a Task given by
// the caller.
//
// What must not live here: vendors, lines, chunks, SQL.
package resume
