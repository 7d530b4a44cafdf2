package httpapi

import (
	"context"
	"io"
	"net/url"
	"time"

	"github.com/google/uuid"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/ratelimit"
	"payrollgateway/internal/store"
	"payrollgateway/internal/vendor"
)

// Reader is what answers are made of; store.Reader without its metrics.
type Reader interface {
	Batch(ctx context.Context, tenant, batchKey string) (store.Token, error)
	Token(ctx context.Context, tenant string, token uuid.UUID) (store.Token, error)
	Batches(ctx context.Context, tenant string, p store.Page) ([]store.Token, string, error)
	Rejected(ctx context.Context, batchID int64, limit int) ([]store.Letter, error)
	Corrections(ctx context.Context, batchID int64, limit int) ([]store.CorrectionView, error)
	Lines(ctx context.Context, batchID int64, state payroll.State, p store.Page) ([]store.LineView, string, error)
	EmployeeLines(ctx context.Context, tenant, payPeriod, employee string, p store.Page) ([]store.LineView, string, error)
	Line(ctx context.Context, tenant, lineKey string) (store.LineView, error)
	Letters(ctx context.Context, f store.LetterFilter, p store.Page) ([]store.Letter, string, error)
	CountLetters(ctx context.Context, f store.LetterFilter) (int, error)
	Letter(ctx context.Context, tenant string, id uuid.UUID) (store.Letter, error)
}

// Operations are the writes that need no judgement: cancelling, and keeping
// replays by filter, which something else carries out.
type Operations interface {
	Cancel(ctx context.Context, tenant, batchKey, actor string, now time.Time) (store.Token, error)
	CreateReplay(ctx context.Context, r store.Replay) error
	CancelReplay(ctx context.Context, tenant string, id uuid.UUID, now time.Time) (store.Replay, error)
	Replay(ctx context.Context, tenant string, id uuid.UUID) (store.Replay, error)
}

// Gates keeps vendors' gates over restarts.
type Gates interface {
	SaveGate(ctx context.Context, g store.Gate) error
	Gates(ctx context.Context) ([]store.Gate, error)
}

// Submitter takes a pay run in.
type Submitter interface {
	// Submit reads the body to its end and stores it, or nothing of it. With an
	// error of store.Intake.Accept the result names the batch all the same; other
	// refusals of the submission are a *Refusal.
	Submit(ctx context.Context, u Upload) (Submitted, error)
}

// Upload is one submission as it arrives.
type Upload struct {
	Tenant          string
	Actor           string     // id of the API key
	ContentType     string     // one of the document's, parameters included
	ContentEncoding string     // "" or "gzip"
	Query           url.Values // the envelope, with NDJSON and CSV; names are known and given once
	Strict          bool
	Body            io.Reader // fails with os.ErrDeadlineExceeded when nothing arrives for too long
	Now             time.Time
}

// Submitted is what became of an upload.
type Submitted struct {
	BatchKey string
	Unit     payroll.Unit
	Replayed bool // the same content was stored before
}

// Letters is what people do to one dead letter. Guards refuse with a *Refusal.
type Letters interface {
	Replay(ctx context.Context, tenant string, id uuid.UUID, o ReplayOrder) (Replayed, error)
	Close(ctx context.Context, tenant string, id uuid.UUID, o CloseOrder) error
}

// ReplayOrder is one replay.
type ReplayOrder struct {
	Actor         string
	AttestNotPaid string    // evidence; "" = no attestation
	CutoffAt      time.Time // new cut-off; zero = keeps its own
	RootCause     string
}

// Replayed says what a replay did.
type Replayed int

// The results of a replay.
const (
	ReplayTaken    Replayed = iota + 1 // the line is back at work
	ReplayLookUp                       // the vendor is asked first
	ReplayResolved                     // it ended without another send: its batch is cancelled, or a newer version exists
	ReplaySettled                      // settled meanwhile: nothing was done
)

// CloseOrder closes a dead letter without a send: by As, or by AttestPaid.
type CloseOrder struct {
	Actor      string
	As         payroll.CloseReason
	AttestPaid string // evidence that the vendor paid it
	Note       string
	RootCause  string
}

// Resumer is the supervisor of those who work.
type Resumer interface {
	// Resume takes a unit up at once where its owner is known to be gone:
	// *resume.OwnerAliveError, resume.ErrStopping.
	Resume(ctx context.Context, u payroll.Unit) error
	// Wake says that a unit has new or changed work.
	Wake(u payroll.Unit)
}

// Vendors are the configured vendors.
type Vendors interface {
	Names() []string // sorted
	Vendor(name string) (Vendor, bool)
}

// Vendor is one of them with the gate in front of it.
type Vendor struct {
	Profile *vendor.Profile
	Gate    Gate
}

// Gate is the part of a ratelimit.Gate that people see and release.
type Gate interface {
	Snapshot() ratelimit.Snapshot
	Report(e ratelimit.Event) (now ratelimit.Snapshot, changed bool)
}
