package httpapi

import (
	"encoding/json"
	"net/http"
	"strconv"

	"payrollgateway/internal/httpapi/apigen"
)

// kind is what all problems of a code have in common.
type kind struct {
	status int
	title  string
	detail string // what to do about it; a refusal may say it more exactly
	retry  int    // seconds for Retry-After; 0 = none
}

// problems is the one table of error codes. The document has them too, with the
// meaning of each; a test holds the two together.
var problems = map[apigen.ProblemCode]kind{
	apigen.ProblemCodeInvalidParameter: {status: 400, title: "A parameter is not acceptable", detail: "Correct the parameters named in errors."},
	apigen.ProblemCodeInvalidBody:      {status: 400, title: "The body cannot be read", detail: "The body must be whole, in UTF-8, and of the type that Content-Type names; JSON is one object and nothing after it. Nothing was stored."},
	apigen.ProblemCodeDuplicateName:    {status: 400, title: "A name occurs twice", detail: "Which of the two counts cannot be known. Send each name once, in lower case."},
	apigen.ProblemCodeUnauthorized:     {status: 401, title: "The key is missing or not known", detail: `Send "Authorization: Bearer <key>" with a key of this gateway.`},
	apigen.ProblemCodeForbidden:        {status: 403, title: "The key does not allow this", detail: "Use a key with one of required_scopes."},
	apigen.ProblemCodeNotFound:         {status: 404, title: "Not found", detail: "Nothing of your tenant is at this address."},
	apigen.ProblemCodeMethodNotAllowed: {status: 405, title: "The method is not allowed here", detail: "Use one of the methods named by the Allow header."},
	apigen.ProblemCodeBodyTooSlow:      {status: 408, title: "The body arrived too slowly", detail: "Less than 1 KiB a second arrived over 60 seconds. Nothing was stored; send the same body again."},
	apigen.ProblemCodeBodyTooLarge:     {status: 413, title: "The body is too large", detail: "A batch takes 1,000,000 lines, 512 MiB, and 200 times its compressed size. Nothing was stored; post it as several runs."},
	apigen.ProblemCodeInvalidEnvelope:  {status: 422, title: "The batch's envelope is not acceptable", detail: "Correct the fields named in errors and post the batch again. Nothing was stored."},
	apigen.ProblemCodeUnknownVendor:    {status: 422, title: "No such vendor", detail: "Name one of known_vendors."},
	apigen.ProblemCodeEmptyBatch:       {status: 422, title: "The batch has no lines", detail: "A batch needs at least one line. Check that the export is not empty."},
	apigen.ProblemCodeStrictRefused:    {status: 422, title: "Rows are wrong, and strict handling was asked for", detail: `Correct the rows named in errors, or post without "handling=strict" to have the others paid.`},
	apigen.ProblemCodeInvalidRequest:   {status: 422, title: "The body is not acceptable", detail: "Correct the members named in errors. Nothing was changed."},
	apigen.ProblemCodeInternal:         {status: 500, title: "Something is wrong here", detail: "The fault was logged. Every call can safely be repeated."},
	apigen.ProblemCodeStoreUnavailable: {status: 503, title: "The store does not answer", detail: "Nothing was changed. Repeat the call after Retry-After.", retry: 5},
	apigen.ProblemCodeBusy:             {status: 503, title: "Too many uploads at once", detail: "As many bodies are being received as this replica takes at once. Send the same content again shortly.", retry: 5},
	apigen.ProblemCodeDraining:         {status: 503, title: "This replica is stopping", detail: "Another replica, or this one once it is back, takes the same call.", retry: 5},
	apigen.ProblemCodeOwnerAlive:       {status: 409, title: "A worker is on it", detail: "The worker named by owner is alive and goes on by itself. Nothing needs to be done."},
	apigen.ProblemCodeSuperseded:       {status: 409, title: "A newer version exists", detail: "A higher line_version of this payment was posted, which takes the place of this one."},
	apigen.ProblemCodeNotReplayable:    {status: 409, title: "This record cannot be replayed", detail: "The record is closed, or the row was refused at intake. Post the corrected line with the next line_version."},
	apigen.ProblemCodeAlreadyClosed:    {status: 409, title: "The record is not open", detail: "The record was closed or replayed before. Read it again to see what was decided."},
	apigen.ProblemCodeVersionOpen:      {status: 409, title: "Another version is open", detail: "Another version of this payment may still be paid. Wait until it has ended, or cancel it first."},
	apigen.ProblemCodeNotSuspended:     {status: 409, title: "The gate is not suspended", detail: "Only a suspended gate is released by hand. Read the vendor to see the gate's state."},
	apigen.ProblemCodeCutoffPassed:     {status: 409, title: "The cut-off has passed", detail: "Nothing is sent after the cut-off. Replay with a new cutoff_at if the vendor still takes payments for this period."},
	apigen.ProblemCodeNotQuietYet:      {status: 409, title: "An earlier request could still arrive", detail: "Decide again after not_quiet_until, when no earlier request can arrive any more."},
	apigen.ProblemCodeHeld:             {status: 409, title: "The batch is held", detail: "The batch goes on by itself once the reason given by hold_reason is gone. A suspended vendor waits for its release."},
	apigen.ProblemCodeAttestationRequired: {
		status: 409, title: "The line may have been paid",
		detail: "The vendor cannot be asked. Find out whether the line was paid, then replay it with attest_not_paid or close it with attest_paid.",
	},
	apigen.ProblemCodeBatchContentDiffers: {
		status: 409, title: "Another batch has this key",
		detail: "This pay period and run_attempt_group were posted before with other content, which first differs at the row named by ordinal; " +
			"without one it is vendor, pay_date, cutoff_at or the number of rows. Post corrections under a new run_attempt_group, with a higher line_version for each changed line.",
	},
	apigen.ProblemCodeUnsupportedMediaType: {
		status: 415, title: "The body's type is not supported",
		detail: "Set Content-Type to a type listed for this call, and Content-Encoding, where it is taken, to gzip or nothing.",
	},
	apigen.ProblemCodeControlTotalsMismatch: {
		status: 422, title: "The control totals do not match the lines",
		detail: "The body does not hold what its control totals announce; it may be truncated. counted is what arrived.",
	},
}

// maxFaults bounds what one problem lists; errors_total has the rest.
const maxFaults = 1000

// Refusal is a problem as an error: what a caller is answered. Members beyond
// those of the table are set by whoever refuses, and never hold a value that the
// caller sent.
type Refusal struct{ apigen.Problem }

// Refuse makes a refusal of a code with everything that the table says of it.
func Refuse(code apigen.ProblemCode) *Refusal {
	k, ok := problems[code]
	if !ok {
		return Refuse(apigen.ProblemCodeInternal)
	}
	return &Refusal{apigen.Problem{Type: "/docs#" + string(code), Title: k.title, Status: k.status, Code: code, Detail: k.detail}}
}

// RefuseFaults makes a refusal that lists faults, the first 1,000 of them.
func RefuseFaults(code apigen.ProblemCode, faults ...apigen.Fault) *Refusal {
	r := Refuse(code)
	r.Errors = faults
	if len(faults) > maxFaults {
		r.Errors, r.ErrorsTotal = faults[:maxFaults], len(faults)
	}
	return r
}

// Error names the code and nothing else.
func (r *Refusal) Error() string { return "refused: " + string(r.Code) }

// write answers with the problem.
func (r *Refusal) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	if s := problems[r.Code].retry; s > 0 {
		h.Set("Retry-After", strconv.Itoa(s))
	}
	if r.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="payroll gateway"`)
	}
	w.WriteHeader(r.Status)
	// The client may be gone; there is nobody else to tell.
	_ = json.NewEncoder(w).Encode(r.Problem)
}
