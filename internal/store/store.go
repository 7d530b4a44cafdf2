package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"payrollgateway/internal/payroll"
)

// Intake takes submissions in.
type Intake interface {
	// Accept stores a submission in one visible step, or nothing of it.
	//
	// Under the lock of the pay period: a known batch key with the same
	// ContentHash is Replayed, with another one a *ContentDiffersError. Rows
	// whose key a live item holds are decided by payroll.Contest; lines with
	// lower or higher versions by payroll.Succeed. A line behind an open older
	// version waits (Trouble.BlockedBy); a lower version that was certainly not
	// applied becomes superseded; a correction of a paid line is recorded in
	// corrections and sent or dead-lettered correction_refused. The tokens of
	// all batches whose lines change are locked in batch order and their
	// change_seq raised. The new token takes its unit's epoch. Strict: rows
	// that would be dead letters refuse the whole (*RefusedError).
	Accept(ctx context.Context, s Submission) (Receipt, error)
}

// Tokens says who works on what.
type Tokens interface {
	// Claimable lists units with unfinished batches whose owner is nobody or
	// silent since before now-ttl, earliest cut-off first, then oldest batch.
	Claimable(ctx context.Context, now time.Time, ttl time.Duration, limit int) ([]Claimable, error)
	// Claim takes a unit: its epoch is raised, and so are the epochs of the
	// tokens of its unfinished batches. *HeldError where its owner is alive.
	Claim(ctx context.Context, c Claim) (Tenure, error)
	// Heartbeat says that the owner lives. ErrFenced after a take-over.
	Heartbeat(ctx context.Context, t Tenure, now time.Time) error
	// Release gives a unit back at once; no error where it was taken over.
	Release(ctx context.Context, t Tenure) error
	// Work lists the tenure's unfinished batches by id.
	Work(ctx context.Context, t Tenure) ([]Token, error)
	// SetState notes what a batch waits for. ErrFenced after a take-over.
	SetState(ctx context.Context, batchID, epoch int64, s BatchState, hold string, now time.Time) error
}

// Dispatch is what the worker that owns a unit reads and writes.
type Dispatch interface {
	// ReadAhead reads up to limit live lines from an ordinal on that nothing
	// happened to, in order, with what a request needs: hash, any-version
	// digest and metadata may be left out.
	ReadAhead(ctx context.Context, batchID int64, from int32, limit int) ([]payroll.Line, error)
	// Due reads up to limit lines of troubles, in no attempt and not blocked,
	// with DueAt <= now, by DueAt then ordinal.
	Due(ctx context.Context, batchID int64, now time.Time, limit int) ([]Due, error)
	// NextDue says when the next of them is due; zero = none.
	NextDue(ctx context.Context, batchID int64) (time.Time, error)
	// Open commits an attempt before its request leaves. Submit: its lines
	// become in_flight, Sends goes up, FirstSentAt is set where it was zero.
	// Look-up: its lines are taken and keep their state. ErrFenced, ErrChanged;
	// ErrUnavailable: it may or may not be recorded, so nothing may be sent.
	Open(ctx context.Context, o Open) error
	// Apply writes a worker's decision. ErrFenced, ErrChanged, ErrAnswered.
	Apply(ctx context.Context, w Work) (Applied, error)
	// NoteAnswer keeps a late answer on an open attempt, whatever the epoch.
	NoteAnswer(ctx context.Context, batchID int64, attemptNo int32, late []byte) error
	// OpenAttempts lists the open attempts of a batch.
	OpenAttempts(ctx context.Context, batchID int64) ([]Attempt, error)
	// Chunk reads an attempt and its lines in the order of the request, each
	// with its state and trouble (zero where nothing is remembered).
	Chunk(ctx context.Context, batchID int64, attemptNo int32) (Attempt, []Due, error)
	// Blocked reads up to limit lines after an ordinal that wait for an older version.
	Blocked(ctx context.Context, batchID int64, after int32, limit int) ([]Blocked, error)
	// Correct records that a line corrects a paid one and is about to be sent.
	// Part of what Accept does; for lines that were Blocked at intake.
	Correct(ctx context.Context, batchID int64, ordinal int32, corrects payroll.LineRef) error
	// Mirror gives up to limit followers of a batch the end state of the live
	// item they follow (again, where that changed), and makes the oldest
	// follower of a cancelled one live. It returns how many changed.
	Mirror(ctx context.Context, batchID, epoch int64, now time.Time, limit int) (int, error)
}

// Operations are writes from outside.
type Operations interface {
	// Cancel cancels a batch: what nothing happened to is cancelled as a whole,
	// lines in troubles that are pending or retrying, not ambiguous and in no
	// attempt become cancelled. Again: no change. The token as it is then.
	Cancel(ctx context.Context, tenant, batchKey, actor string, now time.Time) (Token, error)
	// Amend changes lines of one batch by a person's decision. Where a line
	// leaves an end state, its batch goes back to work, LastCursor falls below
	// it, and items that follow it go back to pending (their batches too).
	Amend(ctx context.Context, a Amendment) (Applied, error)
	// CloseReject closes an open dead letter that has no line.
	CloseReject(ctx context.Context, tenant string, id uuid.UUID, as payroll.CloseReason, note CloseNote, actor string, now time.Time) error

	CreateReplay(ctx context.Context, r Replay) error
	// UpdateReplay stores progress; a cancelled replay stays cancelled and is returned.
	UpdateReplay(ctx context.Context, r Replay) (Replay, error)
	CancelReplay(ctx context.Context, tenant string, id uuid.UUID, now time.Time) (Replay, error)
	Replay(ctx context.Context, tenant string, id uuid.UUID) (Replay, error)
	RunningReplays(ctx context.Context) ([]Replay, error)
}

// Reader answers status questions; it never blocks a writer.
type Reader interface {
	// Batch reads a batch with its token and amounts, whatever its size.
	Batch(ctx context.Context, tenant, batchKey string) (Token, error)
	// Token reads the same by resume token.
	Token(ctx context.Context, tenant string, token uuid.UUID) (Token, error)
	Batches(ctx context.Context, tenant string, p Page) (items []Token, next string, err error)
	// Rejected lists the first limit items that died at intake, whether or not
	// they became lines, by ordinal.
	Rejected(ctx context.Context, batchID int64, limit int) ([]Letter, error)
	// Corrections lists the lines of a batch that correct paid ones.
	Corrections(ctx context.Context, batchID int64, limit int) ([]CorrectionView, error)
	// Lines lists a batch's lines by ordinal; state 0 = all.
	Lines(ctx context.Context, batchID int64, state payroll.State, p Page) (items []LineView, next string, err error)
	// EmployeeLines lists an employee's lines in a pay period, all batches.
	EmployeeLines(ctx context.Context, tenant, payPeriod, employee string, p Page) (items []LineView, next string, err error)
	// Line reads the live line of a key with its attempts.
	Line(ctx context.Context, tenant, lineKey string) (LineView, error)
	// Letters lists dead letters without history and payload.
	Letters(ctx context.Context, f LetterFilter, p Page) (items []Letter, next string, err error)
	// CountLetters counts them.
	CountLetters(ctx context.Context, f LetterFilter) (int, error)
	// Letter reads one with everything, and its line's standing today.
	Letter(ctx context.Context, tenant string, id uuid.UUID) (Letter, error)
	// Statistics feeds the metrics: lines by state over unfinished batches,
	// open dead letters, retry queue depth, oldest unsettled.
	Statistics(ctx context.Context) (Statistics, error)
}

// Statistics is a snapshot for metrics.
type Statistics struct {
	Lines           payroll.Counts // of unfinished batches
	OpenLetters     map[LetterLabels]int64
	RetryDepth      int64     // lines in troubles that wait for their time
	OldestUnsettled time.Time // creation of the oldest unfinished batch; zero = none
}

// LetterLabels are the labels under which open dead letters are counted.
type LetterLabels struct {
	Reason payroll.Reason
	Stage  payroll.Stage
}

// Gates keeps gates and profiles over restarts.
type Gates interface {
	SaveGate(ctx context.Context, g Gate) error
	Gates(ctx context.Context) ([]Gate, error)
	// SaveProfile records a revision of a profile. The same revision with
	// another text is an error: outcomes record the revision that judged them.
	SaveProfile(ctx context.Context, name string, revision int32, text []byte) error
}

// Store is everything a backend gives.
type Store interface {
	Intake
	Tokens
	Dispatch
	Operations
	Reader
	Gates
	// Now reads the store's clock: the start of the gateway's one clock.
	Now(ctx context.Context) (time.Time, error)
	// Ping says whether the store can take a write now.
	Ping(ctx context.Context) error
	// Precision is the resolution of stored times.
	Precision() time.Duration
	Close() error
}
