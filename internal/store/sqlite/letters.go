package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"payrollgateway/internal/store"
)

// insertLetter stores a new dead letter under a new id. digest is what "the
// same content" compares of a row refused at intake; nil where it has a line.
func insertLetter(ctx context.Context, t *tx, l store.Letter, digest []byte) error {
	id, err := t.id()
	if err != nil {
		return fmt.Errorf("id: %w", err)
	}
	history, err := json.Marshal(l.History)
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	payload := l.Payload
	if payload == nil {
		payload = []byte{}
	}
	return t.exec(ctx, `INSERT INTO dead_letters (id, tenant, vendor, batch_id, batch_key, pay_period, ordinal, line_key, employee_id,
		amount, currency, cutoff_at, status, reason, stage, last_status, last_error, attempts, first_seen_at, dead_lettered_at,
		digest, payload_cut, history, payload)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		id[:], l.Tenant, l.Vendor, l.BatchID, l.BatchKey, l.PayPeriod, l.Ordinal, l.LineKey, l.EmployeeID,
		int64(l.Amount), l.Currency, micros(l.CutoffAt), l.Status, l.Reason, l.Stage, l.LastStatus, l.LastError, l.Attempts,
		micros(l.FirstSeenAt), micros(l.DeadLetteredAt), digest, flag(l.PayloadCut), history, payload)
}
