package sqlite

import (
	"strings"
	"testing"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// TestStateRuleInSQLIsTheRuleInGo walks every combination that can decide.
func TestStateRuleInSQLIsTheRuleInGo(t *testing.T) {
	t.Parallel()
	s := openAt(t, newPath(t))
	states := append([]payroll.State{0}, payroll.States...)
	sql := `SELECT ` + stateOfLine + ` FROM (SELECT ? AS cancelled_from, ? AS next_ordinal) t, (SELECT ? AS live, ? AS ordinal) l,
		(SELECT nullif(?, 0) AS state) r, (SELECT nullif(?, 0) AS state) o`
	for _, cancelledFrom := range []int32{0, 4, 5, 6} {
		for _, next := range []int32{1, 5, 6} {
			for _, live := range []bool{false, true} {
				for _, trouble := range states {
					for _, outcome := range states {
						k := store.Token{CancelledFrom: cancelledFrom, NextOrdinal: next}
						want := store.StateOf(k, live, 5, trouble, outcome)
						got, err := read(t.Context(), s, func(q querier) (state payroll.State, err error) {
							err = q.row(t.Context(), sql, cancelledFrom, next, flag(live), 5, trouble, outcome).Scan(&state)
							return state, err
						})
						if err != nil || got != want {
							t.Fatalf("cancelled from %d, next %d, live %v, trouble %v, outcome %v: SQL says %v, Go %v, %v",
								cancelledFrom, next, live, trouble, outcome, got, want, err)
						}
					}
				}
			}
		}
	}
}

func TestTheViewHasTheSameRule(t *testing.T) {
	t.Parallel()
	s := openAt(t, newPath(t))
	view := texts(t, s, "SELECT sql FROM sqlite_schema WHERE name = 'line_states'")[0]
	flat := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	if !strings.Contains(flat(view), flat(stateOfLine)) {
		t.Errorf("the view says\n%s\nand the code\n%s", view, stateOfLine)
	}
}
