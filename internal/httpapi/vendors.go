package httpapi

import (
	"context"

	"payrollgateway/internal/httpapi/apigen"
	"payrollgateway/internal/ratelimit"
	"payrollgateway/internal/store"
)

// theConnection is the name of a vendor's only account.
const theConnection = "default"

// theGateway is the actor of what no person did.
const theGateway = "gateway"

// ListVendors implements apigen.StrictServerInterface.
func (s *server) ListVendors(ctx context.Context, _ apigen.ListVendorsRequestObject) (apigen.ListVendorsResponseObject, error) {
	kept, err := s.keptGates(ctx)
	if err != nil {
		return nil, err
	}
	items := []apigen.Vendor{}
	for _, name := range s.Vendors.Names() {
		if v, ok := s.Vendors.Vendor(name); ok {
			items = append(items, s.viewVendor(v, kept[name]))
		}
	}
	return apigen.ListVendors200JSONResponse{Items: items}, nil
}

// GetVendor implements apigen.StrictServerInterface.
func (s *server) GetVendor(ctx context.Context, r apigen.GetVendorRequestObject) (apigen.GetVendorResponseObject, error) {
	v, ok := s.Vendors.Vendor(r.Name)
	if !ok {
		return nil, store.ErrNotFound
	}
	kept, err := s.keptGates(ctx)
	if err != nil {
		return nil, err
	}
	return apigen.GetVendor200JSONResponse{OneVendorJSONResponse: apigen.OneVendorJSONResponse(s.viewVendor(v, kept[r.Name]))}, nil
}

// keptGates are the gates as they are stored, by vendor.
func (s *server) keptGates(ctx context.Context) (map[string]store.Gate, error) {
	gates, err := s.Gates.Gates(ctx)
	if err != nil {
		return nil, err
	}
	kept := make(map[string]store.Gate, len(gates))
	for _, g := range gates {
		kept[g.Vendor] = g
	}
	return kept, nil
}

// ReleaseVendor implements apigen.StrictServerInterface. A release that could
// not be recorded is taken back.
func (s *server) ReleaseVendor(ctx context.Context, r apigen.ReleaseVendorRequestObject) (apigen.ReleaseVendorResponseObject, error) {
	v, ok := s.Vendors.Vendor(r.Name)
	if !ok {
		return nil, store.ErrNotFound
	}
	if c := r.Body.Connection; c != "" && c != theConnection {
		return nil, RefuseFaults(apigen.ProblemCodeInvalidRequest, apigen.Fault{Pointer: "/connection", Detail: "must be " + theConnection + ", the only one of this vendor"})
	}
	before := v.Gate.Snapshot()
	if before.State != ratelimit.Suspended {
		return nil, Refuse(apigen.ProblemCodeNotSuspended)
	}
	after, _ := v.Gate.Report(ratelimit.Release())
	key := caller(ctx)
	kept := store.Gate{Vendor: r.Name, State: after.State.String(), Until: after.Until, Reason: after.Reason, Since: after.Since, Actor: key.ID, Note: r.Body.Note}
	if err := s.Gates.SaveGate(ctx, kept); err != nil {
		v.Gate.Report(ratelimit.Suspend(before.Reason))
		return nil, err
	}
	s.Log.Warn("a suspended gate was released", "vendor", r.Name, "suspended_for", before.Reason, "key_id", key.ID)
	return apigen.ReleaseVendor200JSONResponse{OneVendorJSONResponse: apigen.OneVendorJSONResponse(s.viewVendor(v, kept))}, nil
}

func (s *server) viewVendor(v Vendor, kept store.Gate) apigen.Vendor {
	p := v.Profile
	view := apigen.Vendor{
		Name: p.Name, Revision: int(p.Revision), Concurrency: p.Submit.Concurrency, Gates: []apigen.Gate{s.viewGate(v.Gate.Snapshot(), kept)},
		Rates: make([]apigen.Rate, 0, len(p.Rate)),
	}
	view.Limits.MinAmount, view.Limits.MaxAmount = p.Limits.Min.String(), p.Limits.Max.String()
	view.Chunk.Min, view.Chunk.Max = p.Submit.Chunk.Min, p.Submit.Chunk.Max
	for _, r := range p.Rate {
		view.Rates = append(view.Rates, apigen.Rate{Requests: r.Requests, PerSeconds: r.Per.Seconds(), Headroom: r.Headroom})
	}
	return view
}

// viewGate: a gate that was never anything but open has been so since the start.
func (s *server) viewGate(now ratelimit.Snapshot, kept store.Gate) apigen.Gate {
	g := apigen.Gate{
		Connection: theConnection, State: apigen.GateState(now.State.String()), Reason: now.Reason, Until: utc(now.Until), Since: utc(now.Since),
	}
	if now.Since.IsZero() {
		g.Since = s.started.UTC()
	}
	if now.State != ratelimit.Suspended && kept.Actor != theGateway {
		g.ReleasedBy = kept.Actor
	}
	return g
}
