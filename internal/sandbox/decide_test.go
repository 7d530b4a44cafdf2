package sandbox

import (
	"fmt"
	"math"
	"reflect"
	"testing"
)

// read parses a body as the server would.
func read(t *testing.T, lines ...pay) submission {
	t.Helper()
	body := bodyOf(lines...)
	s, err := decode([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	s.BodyHash = hexHash([]byte(body))
	return s
}

// play decides and notes a submission, as one visit does.
func play(cfg *Config, past *history, s submission) plan {
	p := decide(cfg, past, s)
	r := requestRecord(s, p)
	r.Method = "POST"
	past.note(r)
	return p
}

func TestSameSeedSameFaultsWhateverTheOrder(t *testing.T) {
	cfg := Config{
		Seed: 7, Faults: mustRates(t, "503=0.3,reset=0.2"), ItemFaults: mustItemRates(t, "503=0.2,missing=0.1"),
	}
	bodies := []submission{read(t, pay{emp: "1"}, pay{emp: "2"}), read(t, pay{emp: "3"}), read(t, pay{emp: "4"}, pay{emp: "5"})}
	fates := func(order []int) map[string]string {
		past, seen := newHistory(), map[string]string{}
		for round := range 20 {
			for _, i := range order {
				p := play(&cfg, past, bodies[i])
				seen[fmt.Sprint(i, round)] = fmt.Sprint(p.fault, p.items, p.luck.draw("cut"))
			}
		}
		return seen
	}
	one := fates([]int{0, 1, 2})
	if !reflect.DeepEqual(one, fates([]int{2, 0, 1})) {
		t.Fatal("the order of requests changed the faults")
	}
	cfg.Seed = 8
	if reflect.DeepEqual(one, fates([]int{0, 1, 2})) {
		t.Fatal("another seed gave the same faults")
	}
}

func TestRatesAreKept(t *testing.T) {
	cfg := Config{Seed: 1, ItemFaults: mustItemRates(t, "503=0.2,422=0.1")}
	const lines = 20000
	count := map[int]int{}
	for i := range lines {
		fault := dice{cfg.Seed, fmt.Sprint(i), 0}.pick(cfg.ItemFaults)
		count[fault.Status]++
	}
	// The second rate applies to what the first one left.
	for status, want := range map[int]float64{503: 0.2, 422: 0.08} {
		if got := float64(count[status]) / lines; math.Abs(got-want) > 0.015 {
			t.Errorf("%d: %.3f, want %.3f", status, got, want)
		}
	}
}

func TestDrawsAreShares(t *testing.T) {
	for i := range 1000 {
		if x := (dice{uint64(i), "x", i}).draw("y"); x < 0 || x >= 1 {
			t.Fatal(x)
		}
	}
}

func TestMaxFaultsPerLineEndsTheTrouble(t *testing.T) {
	cfg := Config{Faults: mustRates(t, "503=1"), ItemFaults: mustItemRates(t, "503=1"), MaxFaultsPerLine: 3}
	past := newHistory()
	s := read(t, pay{emp: "1"}, pay{emp: "2"})
	for range 3 {
		if p := play(&cfg, past, s); p.fault.Status != 503 {
			t.Fatal("no fault")
		}
	}
	if p := play(&cfg, past, s); p.fault.Strikes() || p.items[0].fault.Strikes() {
		t.Fatal("still a fault")
	}
	// A fresh line beside a worn one: no fault for the request, one for the line.
	p := play(&cfg, past, read(t, pay{emp: "1"}, pay{emp: "3"}))
	if p.fault.Strikes() || p.items[0].fault.Strikes() || !p.items[1].fault.Strikes() {
		t.Fatalf("%+v", p)
	}
}

func TestPrecedence(t *testing.T) {
	cfg := Config{Faults: mustRates(t, "500-after-commit=1"), ItemFaults: mustItemRates(t, "missing=1")}
	past := newHistory()
	s := read(t, pay{emp: "sandbox.422.a"}, pay{emp: "sandbox.truncate"}, pay{emp: "sandbox.reset-before-commit"}, pay{emp: "1"})

	first := play(&cfg, past, s)
	if first.fault.Kind != KindTruncate || first.carrier != 1 {
		t.Fatalf("the first line's wire magic: %+v", first)
	}
	if first.items[0].fault.Status != 422 || !first.items[0].magic || first.items[3].fault.Kind != KindMissing {
		t.Fatalf("item magic before drawn: %+v", first.items)
	}
	second := play(&cfg, past, s)
	if second.fault.Kind != KindReset || second.items[0].fault.Strikes() {
		t.Fatalf("before the commit nothing else is decided: %+v", second)
	}
	third := play(&cfg, past, s)
	if third.fault.Status != 500 || third.carrier != -1 {
		t.Fatalf("magic is used up, the drawn fault follows: %+v", third)
	}
}

func TestRefusedRequestsDoNotCount(t *testing.T) {
	past := newHistory()
	past.note(&Request{Method: "POST", BodySHA256: "b", Lines: []RequestLine{{Key: "k"}}, Refused: RefusedRate})
	if of(past.bodies, "b").seen != 0 || of(past.lines, "k").seen != 0 {
		t.Fatal("counted")
	}
}

func TestDrawnFaultEqualToAMagicOneStillCounts(t *testing.T) {
	past := newHistory()
	past.note(&Request{Method: "POST", Fault: "500-after-commit", Lines: []RequestLine{{Key: "k", Fault: "500-after-commit", Magic: true}}})
	if got := of(past.lines, "k"); got.drawn != 1 || got.magic != 1 {
		t.Fatalf("%+v", got)
	}
}
