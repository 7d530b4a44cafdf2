package sandbox

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"strconv"
)

// plan is what was decided for one submission before anything was done.
type plan struct {
	fault   Fault      // of the request
	items   []itemFate // by line
	luck    dice       // of the request
	carrier int        // the line whose magic id asked for fault, or -1
}

type itemFate struct {
	fault Fault
	magic bool
}

// decide draws the faults of a submission. It is pure: configuration, what was
// sent, and how often it was seen before.
//
// Order of precedence: a due magic fault of the wire (first line first), a
// drawn fault of the request, then for each line its due magic fault, else a
// drawn one. A request that fails before the commit decides nothing for lines.
func decide(cfg *Config, past *history, s submission) plan {
	luck := dice{cfg.Seed, s.BodyHash, of(past.bodies, s.BodyHash).seen}
	p := plan{
		items:   make([]itemFate, len(s.Lines)),
		luck:    luck,
		carrier: dueWireMagic(past, s),
	}
	switch {
	case p.carrier >= 0:
		p.fault = s.Lines[p.carrier].magic.fault
	case !worn(cfg, past, s):
		p.fault = luck.pick(cfg.Faults)
	}
	if p.fault.Commits() {
		for i, l := range s.Lines {
			p.items[i] = decideItem(cfg, past, l)
		}
	}
	return p
}

func dueWireMagic(past *history, s submission) int {
	for i, l := range s.Lines {
		if l.magic.wire && of(past.lines, withoutGeneration(l.Key)).magic < l.magic.times {
			return i
		}
	}
	return -1
}

// worn says that a line of the request has suffered all it may.
func worn(cfg *Config, past *history, s submission) bool {
	for _, l := range s.Lines {
		if hadEnough(cfg, of(past.lines, withoutGeneration(l.Key))) {
			return true
		}
	}
	return false
}

func hadEnough(cfg *Config, t tally) bool {
	return cfg.MaxFaultsPerLine > 0 && t.drawn >= cfg.MaxFaultsPerLine
}

func decideItem(cfg *Config, past *history, l line) itemFate {
	name := withoutGeneration(l.Key)
	counts := of(past.lines, name)
	if l.magic.fault.Strikes() && !l.magic.wire && counts.magic < l.magic.times {
		return itemFate{fault: l.magic.fault, magic: true}
	}
	if hadEnough(cfg, counts) {
		return itemFate{}
	}
	return itemFate{fault: dice{cfg.Seed, name, counts.seen}.pick(cfg.ItemFaults)}
}

// decideLookUp draws the fault of a look-up.
func decideLookUp(cfg *Config, past *history, key string) Fault {
	counts := of(past.lookUps, key)
	if hadEnough(cfg, counts) {
		return Fault{}
	}
	return dice{cfg.Seed, key, counts.seen}.pick(cfg.LookUpFaults)
}

// dice are the draws of one occasion: the same seed, thing and number of times
// it was seen give the same draws, whatever happened in between.
type dice struct {
	seed  uint64
	thing string
	seen  int
}

func (d dice) bits(what string) uint64 {
	text := strconv.FormatUint(d.seed, 10) + "|" + what + "|" + strconv.Itoa(d.seen) + "|" + d.thing
	sum := sha256.Sum256([]byte(text))
	return binary.BigEndian.Uint64(sum[:])
}

// draw is uniform in [0, 1).
func (d dice) draw(what string) float64 {
	return math.Ldexp(float64(d.bits(what)>>11), -53)
}

func (d dice) pick(rates FaultRates) Fault {
	for _, r := range rates {
		if r.Rate > 0 && d.draw(r.Fault.String()) < r.Rate {
			return r.Fault
		}
	}
	return Fault{}
}
