// Package benchmark measures what the gateway costs: beside bare loops that do
// the same input and output and nothing else, or in counts that do not depend on
// the machine. A figure is a ratio of two runs that were interleaved, a count of
// bytes or statements, or a bound that holds on any machine.
//
// What lives here: the figures with their targets, the experiments behind them,
// the bare loops, the vendor without latency, the page that is printed and kept.
// What must not: flags and the environment (cmd/bench), tests of behaviour, and
// anything that the product imports.
package benchmark
