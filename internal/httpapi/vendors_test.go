package httpapi

import (
	"strings"
	"testing"

	"payrollgateway/internal/ratelimit"
	"payrollgateway/internal/store"
)

func TestAReleaseIsRecorded(t *testing.T) {
	w := newWorld(t)
	suspend(w)
	before := members(t, w, "getVendor")["gates"].([]any)[0].(map[string]any)
	if before["state"] != "suspended" || before["reason"] != "credentials" || before["released_by"] != nil {
		t.Errorf("before: %v", before)
	}
	after := members(t, w, "releaseVendor")["gates"].([]any)[0].(map[string]any)
	if after["state"] != "open" || after["released_by"] != "id-admin" || after["reason"] != nil {
		t.Errorf("after: %v", after)
	}
	want := store.Gate{Vendor: "sandbox", State: "open", Since: w.now, Actor: "id-admin", Note: "new credentials"}
	if len(w.ledger.gates) != 1 || w.ledger.gates[0] != want {
		t.Errorf("kept %+v", w.ledger.gates)
	}
	if got := members(t, w, "listVendors")["items"].([]any)[0].(map[string]any)["gates"].([]any)[0].(map[string]any); got["released_by"] != "id-admin" {
		t.Errorf("listed: %v", got)
	}
	if !strings.Contains(w.log.String(), `"key_id":"id-admin"`) || strings.Contains(w.log.String(), "new credentials") {
		t.Errorf("log: %s", w.log.String())
	}
}

func TestAReleaseThatCannotBeRecordedIsTakenBack(t *testing.T) {
	w := newWorld(t)
	suspend(w)
	w.ledger.saveErr = store.ErrUnavailable
	rec := w.do(samples()["releaseVendor"].request())
	if s := w.gate.Snapshot(); rec.Code != 503 || s.State != ratelimit.Suspended || s.Reason != "credentials" {
		t.Errorf("%d, gate %+v", rec.Code, s)
	}
}

func TestAGateThatNeverClosedIsOpenSinceTheStart(t *testing.T) {
	w := newWorld(t)
	g := members(t, w, "getVendor")["gates"].([]any)[0].(map[string]any)
	if g["since"] != "2026-07-13T10:00:00Z" || g["state"] != "open" || g["connection"] != "default" {
		t.Errorf("%v", g)
	}
}

func TestWhatTheGatewayDidIsNobodysRelease(t *testing.T) {
	w := newWorld(t)
	w.ledger.gates = []store.Gate{{Vendor: "sandbox", State: "open", Actor: "gateway"}}
	if g := members(t, w, "getVendor")["gates"].([]any)[0].(map[string]any); g["released_by"] != nil {
		t.Errorf("%v", g)
	}
}
