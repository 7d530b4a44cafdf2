package sandbox

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// magic is what an employee id asks for.
type magic struct {
	fault Fault
	wire  bool // spoils the whole request's answer, not the line's item
	times int  // how often it strikes
}

const magicPrefix = "sandbox."

// magicGrammar: sandbox.<fault>[x<times>][.<anything that makes the id unique>]
var magicGrammar = regexp.MustCompile(`^sandbox\.([a-z0-9-]+?)(?:x([1-9][0-9]{0,2}|all))?(?:\..*)?$`)

var errMagic = errors.New("employee_id begins with sandbox. but names no known fault")

// parseMagic reads an employee id. A number is the status of the line's item; a
// name is a fault of the item if there is one of that name, else of the whole
// request. An ordinary id gives the zero value; a mistyped one errMagic.
func parseMagic(employeeID string) (magic, error) {
	if !strings.HasPrefix(employeeID, magicPrefix) {
		return magic{}, nil
	}
	match := magicGrammar.FindStringSubmatch(employeeID)
	if match == nil {
		return magic{}, errMagic
	}
	name, times := match[1], match[2]
	if fault, err := ParseItemFault(name); err == nil {
		return magic{fault: fault, times: magicTimes(times, fault)}, nil
	}
	fault, err := ParseFault(name)
	if err != nil || fault.Kind == KindStatus {
		return magic{}, errMagic
	}
	return magic{fault: fault, wire: true, times: magicTimes(times, fault)}, nil
}

// magicTimes: a refusal is repeated each time, a lost or spoilt answer happens
// once, unless the id says how often.
func magicTimes(text string, f Fault) int {
	switch {
	case text == "all":
		return math.MaxInt
	case text != "":
		n, _ := strconv.Atoi(text)
		return n
	case f.Kind == KindStatus && f.Stage == BeforeCommit:
		return math.MaxInt
	}
	return 1
}
