package e2e

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"payrollgateway/internal/sandbox"
)

// kind is a kind of vendor: how it behaves, and the profile that describes it.
type kind struct {
	name    string
	sandbox sandbox.Config
	profile string // YAML after name, revision and base_url
	down    int64  // so many requests are answered 503 before one reaches the vendor
}

// before is the vendor behind an edge that is down for a while.
func (k kind) before(vendor http.Handler) http.Handler {
	var seen atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if seen.Add(1) <= k.down {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		vendor.ServeHTTP(w, r)
	})
}

const (
	pace    = "rate: {requests: 1000, per: 1s}\n"
	budgets = "retry: {network: {max_retries: 6, base: 5ms, cap: 40ms}, vendor_error: {max_retries: 6, base: 5ms, cap: 40ms}, rate_limited: {max_retries: 20, base: 5ms, cap: 40ms}}\n"
	patient = "submit: {path: /v1/payroll/lines, timeout: 5s, concurrency: 4, chunk: {min: 5, max: 10}}\n"
	submit  = "submit: {path: /v1/payroll/lines, timeout: 800ms, concurrency: 4, chunk: {min: 5, max: 10}}\n"
	allIn   = "submit: {path: /v1/payroll/lines, timeout: 800ms, concurrency: 4, chunk: {min: 5, max: 10}, atomic: true}\n"
)

// kinds are the fake vendors of the fault matrix.
var kinds = []kind{
	{name: "honours_keys", profile: submit + "idempotency: {scope: line, retention: 1h}\n"},
	{
		name: "honours_keys_with_look_up", sandbox: sandbox.Config{LookUpLag: 20 * time.Millisecond},
		profile: submit + "idempotency: {scope: line, retention: 1h}\nlookup: standard\nlookup_lag: 50ms\n",
	},
	{
		name: "forgets_keys", sandbox: sandbox.Config{KeyRetention: 5 * time.Second, NoLookUp: true},
		profile: submit + "idempotency: {scope: line, retention: 5s}\n",
	},
	{
		name: "look_up_only", sandbox: sandbox.Config{Keys: "ignore"},
		profile: submit + "idempotency: {scope: none}\nlookup: standard\nlookup_lag: 50ms\n",
	},
	{
		name: "blind", sandbox: sandbox.Config{Keys: "ignore", NoLookUp: true},
		profile: submit + "idempotency: {scope: none}\n",
	},
	{
		name: "multi_status", sandbox: sandbox.Config{
			ShuffleItems: true, MaxFaultsPerLine: 2, Seed: 7,
			ItemFaults: itemFaults("missing=0.05,doubled=0.05,foreign=0.05,contradicted=0.05,503=0.05"),
		},
		profile: submit + "idempotency: {scope: line, retention: 1h}\n",
	},
	{name: "atomic", sandbox: sandbox.Config{Atomic: true}, profile: allIn + "idempotency: {scope: line, retention: 1h}\n"},
	{
		name: "request_keys", sandbox: sandbox.Config{KeyScope: "request", RememberMixed: true, NoLookUp: true},
		profile: submit + "idempotency: {scope: request, header: Idempotency-Key, retention: 1h, partial: true}\n",
	},
	{
		name: "stores_all", sandbox: sandbox.Config{Stores: "all"},
		profile: submit + "idempotency: {scope: line, retention: 1h, stores: all}\nlookup: standard\nlookup_lag: 50ms\n",
	},
}

func itemFaults(text string) sandbox.FaultRates {
	rates, err := sandbox.ParseItemFaultRates(text)
	if err != nil {
		panic(err)
	}
	return rates
}

// yaml is the whole profile of a vendor at an address.
func (k kind) yaml(url string) string {
	return "name: acme\nrevision: 1\nbase_url: " + url + "\n" + k.profile + pace + budgets
}

// blind reports whether an unknown outcome can only be parked at this vendor.
func (k kind) blind() bool {
	return strings.Contains(k.profile, "scope: none") && !strings.Contains(k.profile, "lookup")
}
