package benchmark

import (
	"fmt"
	"strconv"
)

// account is how a vendor of an experiment is described: all of them are the one
// process, under different names.
type account struct {
	name  string
	chunk string // bounds of a request's size
	rate  string
}

// The accounts.
var (
	// open is limited by nothing but the machine.
	open = account{"open", "{min: 100, max: 250}", "{requests: 10000, per: 1s, headroom: 0}"}
	// shut sends nothing during an experiment: its first token is a day away.
	shut = account{"shut", "{min: 100, max: 250}", "{requests: 1, per: 24h}"}
	// paced has a limit that a run can exhaust in little time.
	paced = account{"paced", fmt.Sprintf("{min: 1, max: %d}", pacedChunk), fmt.Sprintf("{requests: %d, per: 1s, headroom: %g}", pacedLimit, pacedHeadroom)}
)

// The limit of the paced account, per second, and how many lines a request carries.
const (
	pacedChunk    = 10
	pacedLimit    = 50
	pacedHeadroom = 0.2
)

// profile is the account as a vendor profile.
func (a account) profile(vendorURL string) []byte {
	return fmt.Appendf(nil, `name: %s
revision: 1
base_url: %s
submit: {path: %s, timeout: 30s, concurrency: %d, chunk: %s}
idempotency: {scope: line, retention: 24h}
rate: %s
`, a.name, strconv.Quote(vendorURL), submitPath, inFlight, a.chunk, a.rate)
}
