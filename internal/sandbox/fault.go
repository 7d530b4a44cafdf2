package sandbox

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kind is a way to misbehave.
type Kind string

// The kinds. KindStatus is written as its number.
const (
	KindStatus            Kind = "status"
	KindReset             Kind = "reset"
	KindClose             Kind = "close"
	KindCloseAfterHeaders Kind = "close-after-headers"
	KindTruncate          Kind = "truncate"
	KindTruncateChunked   Kind = "truncate-chunked"
	KindTruncateClose     Kind = "truncate-close"
	KindErrorBody         Kind = "error-body"
	KindHTML              Kind = "html"
	KindDrip              Kind = "drip"
	KindTimeout           Kind = "timeout"
	KindSlow              Kind = "slow"
	KindGzipBomb          Kind = "gzip-bomb"
	KindTwoValues         Kind = "two-values"

	KindMissing      Kind = "missing"
	KindDoubled      Kind = "doubled"
	KindContradicted Kind = "contradicted"
	KindForeign      Kind = "foreign"
)

// Stage is where in the vendor's work a fault strikes.
type Stage string

// The stages: before the commit nothing is paid, after it everything is.
const (
	BeforeCommit Stage = "before-commit"
	AfterCommit  Stage = "after-commit"
)

// reach says what a fault may spoil.
type reach int

const (
	requestFault reach = iota
	itemFault
)

// kinds holds, for every kind with a name, what it spoils and where it may
// strike; the first stage is meant when none is written.
var kinds = map[Kind]struct {
	reach  reach
	stages []Stage
}{
	KindReset:             {requestFault, []Stage{AfterCommit, BeforeCommit}},
	KindClose:             {requestFault, []Stage{AfterCommit, BeforeCommit}},
	KindCloseAfterHeaders: {requestFault, []Stage{AfterCommit, BeforeCommit}},
	KindErrorBody:         {requestFault, []Stage{AfterCommit, BeforeCommit}},
	KindHTML:              {requestFault, []Stage{AfterCommit, BeforeCommit}},
	KindTimeout:           {requestFault, []Stage{AfterCommit, BeforeCommit}},
	KindSlow:              {requestFault, []Stage{AfterCommit, BeforeCommit}},
	KindGzipBomb:          {requestFault, []Stage{AfterCommit, BeforeCommit}},
	// These show the true answer or a part of it, so they need one.
	KindTruncate:        {requestFault, []Stage{AfterCommit}},
	KindTruncateChunked: {requestFault, []Stage{AfterCommit}},
	KindTruncateClose:   {requestFault, []Stage{AfterCommit}},
	KindDrip:            {requestFault, []Stage{AfterCommit}},
	KindTwoValues:       {requestFault, []Stage{AfterCommit}},

	KindMissing:      {itemFault, []Stage{AfterCommit, BeforeCommit}},
	KindDoubled:      {itemFault, []Stage{AfterCommit}},
	KindContradicted: {itemFault, []Stage{AfterCommit}},
	KindForeign:      {itemFault, []Stage{AfterCommit}},
}

// Fault is one misbehaviour. The zero value is none.
type Fault struct {
	Kind   Kind
	Status int  // of KindStatus
	NoHint bool // 429 and 503 without a Retry-After
	Stage  Stage
}

// Strikes tells a fault from none.
func (f Fault) Strikes() bool { return f.Kind != "" }

// Commits says whether the vendor does its work although the fault strikes. A
// slow vendor does it in any case, late.
func (f Fault) Commits() bool { return f.Stage != BeforeCommit || f.Kind == KindSlow }

// String is the name that ParseFault reads, always with its stage.
func (f Fault) String() string {
	if !f.Strikes() {
		return ""
	}
	name := string(f.Kind)
	if f.Kind == KindStatus {
		name = strconv.Itoa(f.Status)
	}
	if f.NoHint {
		name += "-no-hint"
	}
	return name + "-" + string(f.Stage)
}

// ParseFault reads the name of a fault of whole requests, such as "reset",
// "reset-before-commit", "503", "503-no-hint" or "500-after-commit".
func ParseFault(name string) (Fault, error) { return parseFault(name, requestFault) }

// ParseItemFault reads the name of a fault of single items, such as "422",
// "500-after-commit" or "missing".
func ParseItemFault(name string) (Fault, error) { return parseFault(name, itemFault) }

func parseFault(name string, what reach) (Fault, error) {
	rest, stage := name, Stage("")
	for _, s := range []Stage{BeforeCommit, AfterCommit} {
		if head, found := strings.CutSuffix(name, "-"+string(s)); found {
			rest, stage = head, s
		}
	}
	rest, noHint := strings.CutSuffix(rest, "-no-hint")
	if status, err := strconv.Atoi(rest); err == nil {
		return statusFault(name, status, noHint, stage, what)
	}
	kind, known := kinds[Kind(rest)]
	if !known || kind.reach != what || noHint {
		return Fault{}, fmt.Errorf("unknown fault %q", name)
	}
	if stage == "" {
		stage = kind.stages[0]
	}
	if !slices.Contains(kind.stages, stage) {
		return Fault{}, fmt.Errorf("fault %q: makes no sense %s", name, stage)
	}
	return Fault{Kind: Kind(rest), Stage: stage}, nil
}

// statusFault builds a fault of KindStatus. 409 says "already done", so it
// strikes after the commit unless told otherwise; every other status before it.
func statusFault(name string, status int, noHint bool, stage Stage, what reach) (Fault, error) {
	lowest := map[reach]int{requestFault: 200, itemFault: 100}[what]
	if status < lowest || status > 599 {
		return Fault{}, fmt.Errorf("fault %q: no status from %d to 599", name, lowest)
	}
	if noHint && !hinted(status) {
		return Fault{}, fmt.Errorf("fault %q: only 429 and 503 have a hint", name)
	}
	if stage == "" {
		stage = BeforeCommit
		if status == 409 {
			stage = AfterCommit
		}
	}
	if what == itemFault && isDone(status) && stage == BeforeCommit {
		return Fault{}, fmt.Errorf("fault %q: would report a payment that was never made", name)
	}
	return Fault{Kind: KindStatus, Status: status, NoHint: noHint, Stage: stage}, nil
}

func hinted(status int) bool { return status == 429 || status == 503 }

// isDone says whether an item status reports a payment.
func isDone(status int) bool {
	return status == 200 || status == 201 || status == 204 || status == 208
}
