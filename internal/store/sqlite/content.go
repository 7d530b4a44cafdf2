package sqlite

import (
	"context"
	"fmt"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// firstDifference is the ordinal of the first item of a submission that is not
// what is stored, be it that only one of them has it; 0 where all items are the
// same.
func firstDifference(ctx context.Context, t *tx, batchID int64, total int32, sub store.Submission) (int32, error) {
	var page map[int32]payroll.Hash
	var ordinal int32
	for row, err := range sub.Rows() {
		if err != nil {
			return 0, fmt.Errorf("rows: %w", err)
		}
		if ordinal++; ordinal%pageOfRows == 1 {
			if page, err = digests(ctx, t, batchID, ordinal, ordinal+pageOfRows); err != nil {
				return 0, err
			}
		}
		if d, stored := page[ordinal]; !stored || d != row.Digest() {
			return ordinal, nil
		}
	}
	if ordinal < total {
		return ordinal + 1, nil
	}
	return 0, nil
}

// digests are those of the stored items from one ordinal up to another.
func digests(ctx context.Context, q querier, batchID int64, from, to int32) (map[int32]payroll.Hash, error) {
	page := make(map[int32]payroll.Hash, pageOfRows)
	err := each(ctx, q, func(row scanner) error {
		var ordinal int32
		var key payroll.Digest
		var hash payroll.Hash
		err := row.Scan(&ordinal, fixed{key[:]}, fixed{hash[:]})
		page[ordinal] = payroll.RowDigest(key, hash)
		return err
	}, "SELECT ordinal, key, hash FROM lines WHERE batch_id = ? AND ordinal >= ? AND ordinal < ?", batchID, from, to)
	if err != nil {
		return nil, err
	}
	err = each(ctx, q, func(row scanner) error {
		var ordinal int32
		var digest payroll.Hash
		err := row.Scan(&ordinal, fixed{digest[:]})
		page[ordinal] = digest
		return err
	}, "SELECT ordinal, digest FROM dead_letters WHERE batch_id = ? AND ordinal >= ? AND ordinal < ? AND digest IS NOT NULL", batchID, from, to)
	return page, err
}
