// Package examples embeds the example files, so that the demo runs from the
// binary alone.
//
// What must not live here: code that uses them.
package examples

import _ "embed" // the file

// CityPayroll is a pay period of a city: 18,067 lines in CSV, with what real
// files have in them: one-digit decimals, leading zeros, 13 negative amounts and
// 3 above a quarter of a million.
//
//go:embed city-payroll.csv
var CityPayroll []byte
