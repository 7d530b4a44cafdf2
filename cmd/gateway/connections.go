package main

import (
	"context"
	"fmt"
	"time"

	"payrollgateway/internal/batch"
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/ratelimit"
	"payrollgateway/internal/retry"
	"payrollgateway/internal/store"
	"payrollgateway/internal/vendor"
)

// vendors is every configured vendor with the one connection to it.
type vendors struct {
	links   map[string]*batch.Link
	clients []*vendor.Client
}

// connect makes a connection per profile and puts its gate into the state that
// the store kept.
func connect(ctx context.Context, profiles map[string]*vendor.Profile, s store.Store, now func() time.Time, rng retry.Rand) (*vendors, error) {
	v := &vendors{links: map[string]*batch.Link{}}
	kept, err := s.Gates(ctx)
	if err != nil {
		return nil, err
	}
	for name, p := range profiles {
		if err := s.SaveProfile(ctx, name, p.Revision, p.Text); err != nil {
			return nil, fmt.Errorf("vendor %s: %w: raise its revision", name, err)
		}
		limits, err := connection(p, kept, now, rng)
		if err != nil {
			return nil, fmt.Errorf("vendor %s: %w", name, err)
		}
		client, err := vendor.NewClient(p, vendor.ClientOptions{Now: now})
		if err != nil {
			return nil, fmt.Errorf("vendor %s: %w", name, err)
		}
		v.clients = append(v.clients, client)
		v.links[name] = &batch.Link{Profile: p, Sender: client, Limits: limits}
	}
	return v, nil
}

func connection(p *vendor.Profile, kept []store.Gate, now func() time.Time, rng retry.Rand) (*ratelimit.Connection, error) {
	limits := make([]ratelimit.Limit, len(p.Rate))
	for i, r := range p.Rate {
		limits[i] = ratelimit.Limit{Requests: r.Requests, Per: r.Per, Headroom: r.Headroom}
	}
	pacer, err := ratelimit.NewLocal(limits...)
	if err != nil {
		return nil, err
	}
	budget := p.Policy().Budgets[payroll.ClassVendorError]
	gate, err := ratelimit.NewGate(ratelimit.GateConfig{
		Now: now, Random: rng,
		Backoff: func(n int, random float64) time.Duration {
			return budget.Wait(n, 0, func() float64 { return random })
		},
	})
	if err != nil {
		return nil, err
	}
	if err := restore(gate, p.Name, kept); err != nil {
		return nil, err
	}
	turns, err := ratelimit.NewTurns(p.Submit.Concurrency, 0)
	if err != nil {
		return nil, err
	}
	return ratelimit.NewConnection(gate, turns, pacer), nil
}

// restore closes a gate again that was closed for a reason that outlives a
// restart: an operator has to open it, or the vendor named a time.
func restore(gate *ratelimit.Gate, name string, kept []store.Gate) error {
	for _, k := range kept {
		if k.Vendor != name {
			continue
		}
		for _, state := range []ratelimit.State{ratelimit.Throttled, ratelimit.Suspended} {
			if k.State == state.String() {
				return gate.Restore(ratelimit.Snapshot{State: state, Until: k.Until, Reason: k.Reason, Since: k.Since})
			}
		}
	}
	return nil
}

func (v *vendors) close() {
	for _, c := range v.clients {
		c.Close()
	}
}

// terms is what a profile says about a line today.
func (v *vendors) terms(name string) (batch.Terms, bool) {
	l, ok := v.links[name]
	if !ok {
		return batch.Terms{}, false
	}
	return batch.Terms{Policy: l.Profile.Policy(), Cap: l.Profile.Limits}, true
}

// settle is how long after now a vendor's open attempts may still arrive. A
// vendor that is not configured any more is treated as the slowest.
func (v *vendors) settle(name string) time.Duration {
	if l, ok := v.links[name]; ok {
		return l.Profile.Policy().Settle
	}
	return time.Hour
}

// drain is how long a stop waits: the longest submit timeout and five seconds.
func (v *vendors) drain() time.Duration {
	longest := time.Duration(0)
	for _, l := range v.links {
		longest = max(longest, l.Profile.Submit.Timeout)
	}
	return longest + 5*time.Second
}

// builtinProfile is the profile of our own sandbox. Its address is another one
// at each start, and so no part of what its revision stands for.
func builtinProfile(url string) *vendor.Profile {
	p, anywhere := vendor.BuiltinSandbox(url), vendor.BuiltinSandbox("http://127.0.0.1:9")
	p.Text, p.SHA256 = anywhere.Text, anywhere.SHA256
	return p
}
