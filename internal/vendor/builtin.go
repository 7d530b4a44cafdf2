package vendor

import (
	"fmt"
	"strconv"
)

// sandboxText is the profile of the gateway's own sandbox vendor; the verb takes
// its address.
const sandboxText = `name: sandbox
revision: 1
base_url: %s
submit:
  path: /v1/payroll/lines
  timeout: 10s
  concurrency: 8
idempotency:
  scope: line
  retention: 24h
  conflict: done
corrections: replace
rate: {requests: 50, per: 1s}
lookup: standard
`

// BuiltinSandbox is the profile "sandbox", at work when no profile is
// configured. baseURL is where the sandbox listens; a text that is no loopback
// URL is a fault of the program and panics.
func BuiltinSandbox(baseURL string) *Profile {
	p, err := Parse("built-in sandbox", fmt.Appendf(nil, sandboxText, strconv.Quote(baseURL)), nil)
	if err != nil {
		panic(err)
	}
	return p
}
