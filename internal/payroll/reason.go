package payroll

// Reason is why a line is a dead letter: a closed set. The numbers are stored.
type Reason int16

// The reason codes.
const (
	SchemaValidationFailed Reason = 1  // a field that cannot be read
	PoisonMessage          Reason = 2  // not even a row or an object
	DuplicateNaturalKey    Reason = 3  // same key with another payload, twice in one body, or at another vendor
	StatutoryCapBreach     Reason = 4  // amount outside the vendor's limits
	VendorRejected         Reason = 5  // the vendor says no, for good
	RetryBudgetExhausted   Reason = 6  // certainly not paid after every permitted retry
	CutoffPassed           Reason = 7  // certainly not paid when the cut-off came
	OutcomeUnknown         Reason = 8  // may have been paid; a person must find out
	CorrectionRefused      Reason = 9  // corrects a payment that the vendor cannot correct
	RecoveryRequired       Reason = 10 // corrects a payment downwards: money must come back
	Unclassified           Reason = 11 // none of these
)

// Reasons lists every reason code.
var Reasons = []Reason{
	SchemaValidationFailed, PoisonMessage, DuplicateNaturalKey, StatutoryCapBreach, VendorRejected, RetryBudgetExhausted,
	CutoffPassed, OutcomeUnknown, CorrectionRefused, RecoveryRequired, Unclassified,
}

var reasonNames = map[Reason]string{
	SchemaValidationFailed: "schema_validation_failed", PoisonMessage: "poison_message",
	DuplicateNaturalKey: "duplicate_natural_key", StatutoryCapBreach: "statutory_cap_breach",
	VendorRejected: "vendor_rejected", RetryBudgetExhausted: "retry_budget_exhausted", CutoffPassed: "cutoff_passed",
	OutcomeUnknown: "outcome_unknown", CorrectionRefused: "correction_refused",
	RecoveryRequired: "recovery_required", Unclassified: "unclassified",
}

func (r Reason) String() string { return nameOf(reasonNames, r) }

// ParseReason reads a reason code.
func ParseReason(name string) (Reason, bool) { return valueOf(reasonNames, name) }

// FailureClass says whether trying again could help. The numbers are stored.
type FailureClass int16

// The failure classes of a dead letter.
const (
	Transient    FailureClass = 1 // would have passed with time, and time ran out
	Permanent    FailureClass = 2 // would fail again as it is
	UnknownClass FailureClass = 3 // nobody knows whether it was applied
)

var failureClassNames = map[FailureClass]string{Transient: "transient", Permanent: "permanent", UnknownClass: "unknown"}

func (c FailureClass) String() string { return nameOf(failureClassNames, c) }

// ParseFailureClass reads a failure class.
func ParseFailureClass(name string) (FailureClass, bool) { return valueOf(failureClassNames, name) }

// Class returns the failure class that a reason implies.
func (r Reason) Class() FailureClass {
	switch r {
	case RetryBudgetExhausted, CutoffPassed:
		return Transient
	case OutcomeUnknown, Unclassified:
		return UnknownClass
	default:
		return Permanent
	}
}

// Replayable reports whether a dead letter of this reason can be put back to
// work at all. What is wrong with the row itself cannot: HR sends it again,
// corrected. A statutory_cap_breach can, when today's profile allows the amount.
func (r Reason) Replayable() bool {
	switch r {
	case SchemaValidationFailed, PoisonMessage, DuplicateNaturalKey, CorrectionRefused, RecoveryRequired:
		return false
	default:
		return true
	}
}

// Stage is where on its way a line became a dead letter. The numbers are stored.
type Stage int16

// The stages.
const (
	StageIntake   Stage = 1
	StageSend     Stage = 2
	StageResponse Stage = 3
	StageResolve  Stage = 4
)

var stageNames = map[Stage]string{StageIntake: "intake", StageSend: "send", StageResponse: "response", StageResolve: "resolve"}

func (s Stage) String() string { return nameOf(stageNames, s) }

// ParseStage reads a source stage.
func ParseStage(name string) (Stage, bool) { return valueOf(stageNames, name) }

// CloseReason is how a person closed a dead letter without a payment by us.
type CloseReason string

// The ways to close a dead letter.
const (
	WrittenOff  CloseReason = "written_off"
	PaidOutside CloseReason = "paid_outside"
	Corrected   CloseReason = "corrected"
	Resubmitted CloseReason = "resubmitted"
)

// ParseCloseReason reads a close reason.
func ParseCloseReason(name string) (CloseReason, bool) {
	switch r := CloseReason(name); r {
	case WrittenOff, PaidOutside, Corrected, Resubmitted:
		return r, true
	default:
		return "", false
	}
}
