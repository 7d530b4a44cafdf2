package benchmark

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

// bareLoop is the least that sends lines and remembers that it did: read a
// chunk, insert an attempt, POST, insert the results and close the attempt in
// one transaction. It renders by appending, does not read what the answer says,
// and has no rate, gate, retry, epoch, counts or amounts. It is the 1.00 of the
// dispatch figure.
type bareLoop struct {
	db   *database
	http *http.Client
	url  string
}

const createBareLoop = `
CREATE TABLE bare_lines (batch_id int8, ordinal int4, key text NOT NULL, employee_id text NOT NULL, amount int8 NOT NULL,
	currency text NOT NULL, details text NOT NULL, PRIMARY KEY (batch_id, ordinal));
CREATE TABLE bare_attempts (batch_id int8, attempt_no int4, first_ordinal int4 NOT NULL, last_ordinal int4 NOT NULL,
	sent_at timestamptz NOT NULL, closed_at timestamptz, PRIMARY KEY (batch_id, attempt_no)) WITH (fillfactor = 70);
CREATE TABLE bare_results (batch_id int8, ordinal int4, status int2 NOT NULL, PRIMARY KEY (batch_id, ordinal));`

// chunkSize is how many lines a request carries.
const chunkSize = 250

func newBareLoop(ctx context.Context, db *database, vendorURL string) (*bareLoop, error) {
	_, err := db.pool.Exec(ctx, createBareLoop)
	return &bareLoop{db: db, url: vendorURL + submitPath, http: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: inFlight}, Timeout: time.Minute,
	}}, err
}

// load stores a pay run.
func (b *bareLoop) load(ctx context.Context, batch int64, period string, lines int) error {
	_, err := b.db.pool.CopyFrom(ctx, pgx.Identifier{"bare_lines"},
		[]string{"batch_id", "ordinal", "key", "employee_id", "amount", "currency", "details"},
		pgx.CopyFromSlice(lines, func(i int) ([]any, error) {
			p := lineOf(i + 1).payment(period)
			return []any{batch, p.Ordinal, p.Natural(tenant, period).Key(), p.EmployeeID, int64(p.Amount), p.Currency, string(p.Details.AppendMembers(nil))}, nil
		}))
	return err
}

// send sends a stored pay run.
func (b *bareLoop) send(ctx context.Context, batch int64, lines int) error {
	workers, ctx := errgroup.WithContext(ctx)
	var next atomic.Int32
	for range inFlight {
		workers.Go(func() error {
			for {
				no := next.Add(1)
				first := (no-1)*chunkSize + 1
				if int(first) > lines {
					return nil
				}
				if err := b.chunk(ctx, batch, no, first, min(first+chunkSize-1, int32(lines))); err != nil {
					return err
				}
			}
		})
	}
	return workers.Wait()
}

func (b *bareLoop) chunk(ctx context.Context, batch int64, no, first, last int32) error {
	body, ordinals, err := b.read(ctx, batch, first, last)
	if err != nil {
		return err
	}
	_, err = b.db.pool.Exec(ctx, "INSERT INTO bare_attempts VALUES ($1, $2, $3, $4, now())", batch, no, first, last)
	if err != nil {
		return err
	}
	status, err := b.post(ctx, body)
	if err != nil {
		return err
	}
	statuses := make([]int16, len(ordinals))
	for i := range statuses {
		statuses[i] = int16(status)
	}
	both := &pgx.Batch{} // sent together, it is one transaction
	both.Queue("INSERT INTO bare_results SELECT $1, * FROM unnest($2::int4[], $3::int2[])", batch, ordinals, statuses)
	both.Queue("UPDATE bare_attempts SET closed_at = now() WHERE batch_id = $1 AND attempt_no = $2", batch, no)
	return b.db.pool.SendBatch(ctx, both).Close()
}

// read reads a chunk and renders it.
func (b *bareLoop) read(ctx context.Context, batch int64, first, last int32) (body []byte, ordinals []int32, err error) {
	rows, err := b.db.pool.Query(ctx, `SELECT ordinal, key, employee_id, amount, currency, details FROM bare_lines
		WHERE batch_id = $1 AND ordinal BETWEEN $2 AND $3 ORDER BY ordinal`, batch, first, last)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	body = append(make([]byte, 0, 64<<10), `{"batch_key":"bare","pay_period_id":"bare","lines":[`...)
	for rows.Next() {
		var ordinal int32
		var amount int64
		var key, employee, currency, details string
		if err := rows.Scan(&ordinal, &key, &employee, &amount, &currency, &details); err != nil {
			return nil, nil, err
		}
		ordinals = append(ordinals, ordinal)
		body = fmt.Appendf(body, `{"key":"%s","employee_id":"%s","line_version":1,"gross_pay":"%d.%02d","currency":"%s"%s},`,
			key, employee, amount/100, amount%100, currency, details)
	}
	return append(bytes.TrimSuffix(body, []byte(",")), "]}"...), ordinals, rows.Err()
}

func (b *bareLoop) post(ctx context.Context, body []byte) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := b.http.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return 0, err
	}
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("the vendor answered %d", response.StatusCode)
	}
	return response.StatusCode, nil
}

func (b *bareLoop) close() { b.http.CloseIdleConnections() }
