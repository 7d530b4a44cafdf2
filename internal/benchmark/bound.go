package benchmark

import "fmt"

// Bound is what a figure must not fall below or rise above. The zero Bound is
// always met: there is no target.
type Bound struct {
	sense sense
	value float64
}

type sense int

const (
	unbounded sense = iota
	atLeast
	atMost
)

// AtLeast is a target that is met by the value and what is above it.
func AtLeast(value float64) Bound { return Bound{atLeast, value} }

// AtMost is a target that is met by the value and what is below it.
func AtMost(value float64) Bound { return Bound{atMost, value} }

// None reports whether there is no target.
func (b Bound) None() bool { return b.sense == unbounded }

// Met reports whether a measured value keeps to the bound.
func (b Bound) Met(measured float64) bool {
	switch b.sense {
	case atLeast:
		return measured >= b.value
	case atMost:
		return measured <= b.value
	default:
		return true
	}
}

func (b Bound) in(u Unit) string {
	switch b.sense {
	case atLeast:
		return ">= " + u.Format(b.value)
	case atMost:
		return "<= " + u.Format(b.value)
	default:
		return "-"
	}
}

// Unit says how values of a figure are written.
type Unit struct {
	decimals int
	suffix   string
}

// The units of the figures.
var (
	Ratio        = Unit{2, ""}
	Percent      = Unit{1, " %"}
	Bytes        = Unit{0, " bytes"}
	Mebibytes    = Unit{0, " MiB"}
	Milliseconds = Unit{1, " ms"}
	Count        = Unit{2, ""}
	Requests     = Unit{0, ""}
)

// Format writes a value with its unit.
func (u Unit) Format(v float64) string { return fmt.Sprintf("%.*f%s", u.decimals, v, u.suffix) }
