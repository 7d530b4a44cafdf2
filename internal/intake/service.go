package intake

import (
	"context"
	"errors"
	"io"
	"net/url"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// Request is one submission as it arrives.
type Request struct {
	Tenant          string // from the API key
	Actor           string // id of the API key
	ContentType     string // the header, parameters included
	ContentEncoding string // the header: "" or "gzip"
	// Query holds the envelope of NDJSON and CSV. With JSON it must be empty.
	// Parameters that are not of the envelope are refused.
	Query  url.Values
	Strict bool      // one wrong row refuses the batch
	Body   io.Reader // read once, to its end or to the first refusal; not closed
	Now    time.Time // of the gateway's one clock
}

// Vendor is what intake needs to know of a vendor.
type Vendor struct {
	Cap         payroll.Cap
	Corrections payroll.Corrections
}

// Service takes submissions in. It is safe for concurrent use; each Submit may
// hold Limits.Memory and 16 bytes a line in memory, and a temporary file.
type Service struct {
	Store store.Intake
	// Vendor finds a configured vendor by name, Known lists their names.
	Vendor func(name string) (Vendor, bool)
	Known  func() []string
	// SpoolDir is where bodies larger than Limits.Memory wait, in unlinked
	// files; "" = the system's folder for temporary files.
	SpoolDir string
	Limits   Limits           // zero fields: the defaults
	Clock    func() time.Time // times the client's sending; nil = time.Now
}

// Accepted is what became of a submission.
type Accepted struct {
	store.Receipt
	Batch payroll.Batch // with ID 0; its Key is the public id
}

// Submit reads a body to its end and stores it as one batch, or nothing of it.
//
// Errors: *Error for what the caller must change; those of store.Intake.Accept
// as they are (*store.ContentDiffersError, *store.RefusedError,
// store.ErrUnavailable), then with Accepted.Batch filled in; the context's; any
// other is a fault of this machine, such as a full disk.
func (s *Service) Submit(ctx context.Context, r Request) (Accepted, error) {
	return Accepted{}, errors.New("intake: not built yet")
}
