package intake

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// readBuffer is the size of the buffers between the client and the parsers.
const readBuffer = 64 << 10

// openBody returns the decoded body without its byte-order mark. All limits of
// the body as a whole are kept here; every error that a read gives is an *Error
// or the context's.
func openBody(ctx context.Context, r Request, l Limits, clock func() time.Time) (*bufio.Reader, error) {
	zipped, err := gzipped(r.ContentEncoding)
	if err != nil {
		return nil, err
	}
	w := &wire{ctx: ctx, from: r.Body, limit: l.Bytes, pace: newPace(l.Rate, l.Window), clock: clock}
	var decoded io.Reader = w
	if zipped {
		decoded = &unzipped{wire: w, buffered: bufio.NewReaderSize(w, readBuffer), limits: l}
	}
	body := bufio.NewReaderSize(decoded, readBuffer)
	return body, skipMark(body)
}

// skipMark strips a UTF-8 byte-order mark: spreadsheets write one before a CSV
// header, and RFC 8259 lets a reader of JSON ignore one.
func skipMark(body *bufio.Reader) error {
	mark := []byte("\xef\xbb\xbf")
	head, err := body.Peek(len(mark))
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if bytes.Equal(head, mark) {
		_, err = body.Discard(len(mark))
		return err
	}
	return nil
}

// wire is the body as it arrives: bounded, and watched for its pace.
type wire struct {
	ctx   context.Context //nolint:containedctx // as long as the request whose body this is
	from  io.Reader
	limit int64
	total int64
	pace  pace
	clock func() time.Time
}

func (w *wire) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	begun := w.clock()
	n, err := w.from.Read(p)
	w.total += int64(n)
	switch slow := w.pace.tooSlow(n, w.clock().Sub(begun)); {
	case w.total > w.limit:
		return 0, errTooManyBytes()
	case slow && err == nil:
		return 0, errTooSlow()
	}
	return n, w.readError(err)
}

// readError says what a failed read means for the submission.
func (w *wire) readError(err error) error {
	var refused *Error
	switch {
	case err == nil, errors.Is(err, io.EOF), errors.As(err, &refused):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errTooSlow()
	case w.ctx.Err() != nil:
		return w.ctx.Err()
	default:
		return refuse(InvalidBody, "the body broke off: send it again, whole")
	}
}

// unzipped is the decoded body of a gzipped one, of one member or several.
type unzipped struct {
	wire     *wire
	buffered *bufio.Reader
	limits   Limits
	gzip     *gzip.Reader // nil until the first read
	total    int64
}

func (u *unzipped) Read(p []byte) (int, error) {
	if u.gzip == nil {
		z, err := gzip.NewReader(u.buffered)
		if err != nil {
			return 0, u.readError(err, true)
		}
		u.gzip = z
	}
	n, err := u.gzip.Read(p)
	u.total += int64(n)
	switch consumed := u.wire.total - int64(u.buffered.Buffered()); {
	case u.total > u.limits.Bytes:
		return 0, errTooManyBytes()
	case u.total > u.limits.RatioFree && u.total/u.limits.Ratio > consumed:
		return 0, refuse(BodyTooLarge, "the body expands too far: send it less compressed, or as several runs")
	}
	return n, u.readError(err, false)
}

func (u *unzipped) readError(err error, atStart bool) error {
	var refused *Error
	switch {
	case err == nil, errors.Is(err, io.EOF) && !atStart, errors.As(err, &refused), u.wire.ctx.Err() != nil:
		return err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return refuse(InvalidBody, "the gzip data ends too early: send the body again, whole")
	default:
		return refuse(InvalidBody, "the gzip data is damaged: send the body again")
	}
}

func errTooManyBytes() error {
	return refuse(BodyTooLarge, "the body is too large: post it as several runs")
}

func errTooSlow() error {
	return refuse(BodyTooSlow, "the body arrived too slowly: send it again")
}
