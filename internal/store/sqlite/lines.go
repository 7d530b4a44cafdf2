package sqlite

import (
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// lineColumns are those of a payroll.Line, read by lineRow.
const lineColumns = `l.ordinal, l.key, l.hash, l.any_version, l.employee_id, l.line_version, l.line_ref,
  l.amount, l.currency, l.details, l.metadata`

// lineRow scans a line; finish it after the scan.
type lineRow struct {
	line    payroll.Line
	details []byte
}

func (r *lineRow) dest() []any {
	l := &r.line
	return []any{
		&l.Ordinal,
		fixed{l.Key[:]},
		fixed{l.Hash[:]},
		fixed{l.AnyVersion[:]},
		&l.EmployeeID, &l.Version, &l.Ref,
		&l.Amount, &l.Currency, &r.details, &l.Metadata,
	}
}

func (r *lineRow) finish() (err error) {
	r.line.Details, err = store.DecodeDetails(r.details)
	return err
}

func scanLine(row scanner) (payroll.Line, error) {
	var r lineRow
	if err := row.Scan(r.dest()...); err != nil {
		return r.line, err
	}
	return r.line, r.finish()
}

var insertLines = newBulk(`INSERT INTO lines (batch_id, ordinal, period_id, live, key, hash, any_version, employee_id,
  line_version, line_ref, amount, currency, details, metadata) VALUES`, 14,
	`ON CONFLICT (period_id, key) WHERE live = 1 DO NOTHING`)

// appendLine appends the values of a row of lines.
func appendLine(args []any, batchID, periodID int64, live bool, l payroll.Line) []any {
	return append(args, batchID, l.Ordinal, periodID, flag(live), l.Key[:], l.Hash[:], l.AnyVersion[:], l.EmployeeID,
		l.Version, l.Ref, int64(l.Amount), l.Currency, store.EncodeDetails(l.Details), l.Metadata)
}
