package sandbox

import (
	"strings"
	"testing"
	"time"
)

func TestZeroConfigIsValid(t *testing.T) {
	if err := (Config{}).Validate(); err != nil {
		t.Fatal(err)
	}
}

func TestConfigRefusals(t *testing.T) {
	for want, cfg := range map[string]Config{
		"listen: must be a loopback":  {Listen: "0.0.0.0:80"},
		"listen: must be host:port":   {Listen: "127.0.0.1"},
		"path: must begin":            {Path: "lines"},
		"path: /journal/summary":      {Path: "/journal/summary"},
		"keys: must be one of":        {Keys: "perhaps"},
		"key_scope: must be one of":   {KeyScope: "batch"},
		"stores: must be one of":      {Stores: "some"},
		"corrections: must be one of": {Corrections: "delta"},
		"duplicate_status":            {DuplicateStatus: 404},
		"max_amount: not an amount":   {MaxAmount: "1e9"},
		"latency: must not":           {Latency: -1},
		"rate_limit: needs":           {RateLimit: RateLimit{Requests: 3}},
		"fault: unknown fault":        {Faults: FaultRates{{Fault{Kind: KindMissing, Stage: AfterCommit}, 1}}},
		"item_fault: the rate":        {ItemFaults: FaultRates{{Fault{Kind: KindMissing, Stage: AfterCommit}, 1.5}}},
	} {
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	all := Config{Listen: "x", Keys: "x", Latency: -time.Second, MinAmount: "x"}.Validate()
	if n := strings.Count(all.Error(), "\n") + 1; n != 4 {
		t.Errorf("%d of 4 faults listed: %v", n, all)
	}
}
