package intake

import (
	"bytes"
	"os"
	"testing"

	"payrollgateway/internal/payroll"
)

// The example file, whole: a real payroll with its real oddities.
func TestCityPayroll(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("../../examples/city-payroll.csv")
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t)
	r := Request{ContentType: mediaCSV, Query: envelopeQuery("control_totals.lines", "18067", "control_totals.gross_pay", "1273471635.81"), Body: bytes.NewReader(file)}
	var negative, over int
	employees := make(map[string]bool)
	for _, row := range d.mustSubmit(r) {
		switch l := row.Line; {
		case l == nil:
			t.Fatalf("row %d: %s", row.Reject.Ordinal, row.Reject.Detail)
		case row.Death == nil:
		case row.Death.Reason != payroll.StatutoryCapBreach || row.Death.Stage != payroll.StageIntake:
			t.Errorf("%+v", row.Death)
		case l.Amount < 0:
			negative++
		case l.Amount > 250_000_00:
			over++
		default:
			t.Errorf("row %d is dead with an amount between the limits", l.Ordinal)
		}
		employees[row.Line.EmployeeID] = true
	}
	if len(d.rows) != 18_067 || negative != 13 || over != 3 {
		t.Errorf("%d rows, %d negative, %d over the maximum", len(d.rows), negative, over)
	}
	first := d.rows[1].Line
	if first.EmployeeID != "0100002" || first.Amount != 119042_50 || len(first.Details) != 8 {
		t.Errorf("%+v", first)
	}
	if len(employees) < 18_000 {
		t.Errorf("%d employees", len(employees))
	}
}
