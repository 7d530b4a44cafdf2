package batch

import (
	"context"
	"fmt"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
	"payrollgateway/internal/vendor"
)

// beginLookUp asks the vendor for one line under the next of its key
// generations. It reports whether an attempt was committed.
func (r *Runner) beginLookUp(soft, hard context.Context, d *desk, x store.Due) (bool, error) {
	generation := x.Trouble.LookedUp + 1
	key := payroll.WireKey(d.lineKey(x.Line), generation)
	sent, err := r.link.Profile.RenderLookUp(key)
	if err != nil {
		return false, fmt.Errorf("render a look-up of batch %s: %w", d.Batch.Key(), err)
	}
	e := &exchange{
		desk: d, sent: sent,
		chunk: vendor.Chunk{BatchKey: d.Batch.Key(), PayPeriod: d.Batch.PayPeriod, Lines: []vendor.ChunkLine{{Line: x.Line, Key: key}}},
		attempt: store.Attempt{
			BatchID: d.Batch.ID, Kind: payroll.LookUp, Ordinals: []int32{x.Line.Ordinal},
			Generation: generation, BodySHA256: sent.SHA256, Revision: r.link.Profile.Revision,
		},
	}
	return r.open(soft, hard, e, r.kind(), store.Open{ChangeSeq: d.ChangeSeq})
}
