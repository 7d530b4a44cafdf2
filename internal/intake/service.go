package intake

import (
	"bufio"
	"context"
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
	limits := s.Limits.withDefaults()
	rows := newCollector(s.SpoolDir, limits)
	defer rows.spool.close()
	batch, err := s.read(ctx, r, limits, rows)
	if err != nil {
		return Accepted{}, err
	}
	vendor, _ := s.Vendor(batch.Vendor)
	receipt, err := s.Store.Accept(ctx, store.Submission{
		Batch: batch, Rows: rows.rows, Strict: r.Strict, Corrections: vendor.Corrections, Now: r.Now,
	})
	return Accepted{Receipt: receipt, Batch: batch}, err
}

// read reads the whole body into rows and returns its batch.
func (s *Service) read(ctx context.Context, r Request, l Limits, rows *collector) (payroll.Batch, error) {
	media, err := mediaOf(r.ContentType)
	if err != nil {
		return payroll.Batch{}, err
	}
	body, err := openBody(ctx, r, l, s.clock())
	if err != nil {
		return payroll.Batch{}, err
	}
	u := &upload{Service: s, request: r, limits: l, body: body, rows: rows}
	switch media {
	case mediaJSON:
		err = u.readJSON()
	case mediaNDJSON:
		err = u.readRows(readNDJSON)
	default:
		err = u.readRows(readCSV)
	}
	if err != nil {
		return payroll.Batch{}, err
	}
	return u.finish()
}

func (s *Service) clock() func() time.Time {
	if s.Clock == nil {
		return time.Now
	}
	return s.Clock
}

// upload is one submission being read.
type upload struct {
	*Service
	request  Request
	limits   Limits
	body     *bufio.Reader
	rows     *collector
	envelope *envelope
	batch    payroll.Batch
	control  control
}

// judge checks the envelope and tells the rows their terms.
func (u *upload) judge(e *envelope) error {
	u.envelope = e
	u.batch, u.control = e.check(u.Service, u.request)
	if err := e.refusal(u.Service); err != nil {
		return err
	}
	u.rows.terms, _ = e.terms(u.request.Tenant, u.Vendor)
	return nil
}

// readRows reads a format whose envelope is in the query: it is judged before a
// row is read.
func (u *upload) readRows(read func(*bufio.Reader, Limits, func(*draft) error) error) error {
	if err := u.judge(queryEnvelope(u.request.Query)); err != nil {
		return err
	}
	return read(u.body, u.limits, u.rows.add)
}

// readJSON reads the format that has its envelope in the body. Rows that come
// before what they depend on wait until the end.
func (u *upload) readJSON() error {
	if err := refuseQuery(u.request.Query); err != nil {
		return err
	}
	waiting := &waitingRows{spool: spool{dir: u.SpoolDir, max: u.limits.Memory}, limit: u.limits.Lines}
	defer waiting.spool.close()
	row := newJSONRow()
	add := func(raw []byte) error { return u.rows.add(row.read(raw)) }

	e := &envelope{}
	body := newJSONBody(u.body, u.limits, e, func() func([]byte) error {
		t, known := e.terms(u.request.Tenant, u.Vendor)
		if !known {
			return waiting.append
		}
		u.rows.terms = t
		return add
	})
	if err := body.read(); err != nil {
		return err
	}
	if err := u.judge(e); err != nil {
		return err
	}
	return waiting.each(add)
}

// finish closes the rows and completes the batch.
func (u *upload) finish() (payroll.Batch, error) {
	if u.rows.count == 0 {
		return payroll.Batch{}, refuse(EmptyBatch, "the batch has no rows: check that the export is not empty")
	}
	if err := u.compareTotals(); err != nil {
		return payroll.Batch{}, err
	}
	if err := u.rows.seal(); err != nil {
		return payroll.Batch{}, err
	}
	u.batch.Total = int32(u.rows.count)
	u.batch.ContentHash = u.rows.contentHash(u.batch)
	return u.batch, nil
}

// compareTotals refuses a body that is not what its sender counted. A row whose
// amount cannot be read makes the sum of the amounts differ.
func (u *upload) compareTotals() error {
	rows, told := u.rows, u.control
	gross, digits := rows.sums.total()
	differs := &envelope{inQuery: u.envelope.inQuery}
	if told.lines != nil && *told.lines != rows.count {
		differs.blame(fieldControlLines, "differs from the number of rows that arrived")
	}
	if told.gross != nil && (rows.unreadable > 0 || !told.gross.Equal(gross)) {
		differs.blame(fieldControlGross, "differs from the sum of the amounts that arrived and could be read")
	}
	if len(differs.faults) == 0 {
		return nil
	}
	counted := &Counted{Lines: rows.count, GrossPay: gross.StringFixed(digits), Unreadable: rows.unreadable}
	return &Error{Code: ControlTotalsMismatch, Faults: differs.faults, Counted: counted}
}
