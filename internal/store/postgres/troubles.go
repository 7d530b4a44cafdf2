package postgres

import (
	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// queueTroubles writes what is remembered of lines, and forgets settled ones.
func queueTroubles(b *pgx.Batch, batch int64, lines []store.Effect) {
	var kept troubles
	var settled []int32
	for _, e := range lines {
		switch {
		case e.Trouble != nil:
			kept.add(e.Was.Line.Ordinal, e.State, *e.Trouble)
		case e.Was.Trouble != nil:
			settled = append(settled, e.Was.Line.Ordinal)
		}
	}
	if len(settled) > 0 {
		b.Queue("DELETE FROM troubles WHERE batch_id = $1 AND ordinal = ANY($2)", batch, settled)
	}
	if len(kept.ordinals) > 0 {
		kept.queue(b, batch)
	}
}

// troubles are rows of the table, by column.
type troubles struct {
	ordinals, attempts                            []int32
	firstSent, quiet, due, cutoff                 []stamp
	blockedByBatch                                []int64
	blockedBy, maxChunk, family, frozen, lookedUp []int32
	states, generations, sends                    []int16
	used                                          [payroll.RetryClasses][]int16
	ambiguous, lookUpNext, conflicted             []bool
}

func (c *troubles) add(ordinal int32, s payroll.State, t payroll.Trouble) {
	c.ordinals = append(c.ordinals, ordinal)
	c.attempts = append(c.attempts, t.AttemptNo)
	c.firstSent = append(c.firstSent, stamp(t.FirstSentAt))
	c.quiet = append(c.quiet, stamp(t.QuietAt))
	c.due = append(c.due, stamp(t.DueAt))
	c.cutoff = append(c.cutoff, stamp(t.CutoffAt))
	c.blockedByBatch = append(c.blockedByBatch, t.BlockedBy.Batch)
	c.blockedBy = append(c.blockedBy, t.BlockedBy.Ordinal)
	c.maxChunk = append(c.maxChunk, int32(t.MaxChunk))
	c.family = append(c.family, t.Family)
	c.frozen = append(c.frozen, t.FrozenWith)
	c.lookedUp = append(c.lookedUp, int32(t.LookedUp))
	c.states = append(c.states, int16(s))
	c.generations = append(c.generations, int16(t.Generation))
	c.sends = append(c.sends, int16(t.Sends))
	for class, n := range t.Used {
		c.used[class] = append(c.used[class], int16(n))
	}
	c.ambiguous = append(c.ambiguous, t.Ambiguous)
	c.lookUpNext = append(c.lookUpNext, t.LookUpNext)
	c.conflicted = append(c.conflicted, t.Conflicted)
}

const upsertTroubles = `INSERT INTO troubles (batch_id, ordinal, attempt_no, first_sent_at, quiet_at, due_at, cutoff_at,
	blocked_by_batch, blocked_by_ordinal, max_chunk, family, frozen_with, looked_up, state, generation, sends,
	used_network, used_vendor_error, used_rate_limited, used_not_yet, used_look_up, ambiguous, look_up_next, conflicted)
SELECT $1, r.* FROM unnest($2::int4[], $3::int4[], $4::timestamptz[], $5::timestamptz[], $6::timestamptz[], $7::timestamptz[],
	$8::int8[], $9::int4[], $10::int4[], $11::int4[], $12::int4[], $13::int4[], $14::int2[], $15::int2[], $16::int2[],
	$17::int2[], $18::int2[], $19::int2[], $20::int2[], $21::int2[], $22::bool[], $23::bool[], $24::bool[]) AS r
ON CONFLICT (batch_id, ordinal) DO UPDATE SET attempt_no = excluded.attempt_no, first_sent_at = excluded.first_sent_at,
	quiet_at = excluded.quiet_at, due_at = excluded.due_at, cutoff_at = excluded.cutoff_at,
	blocked_by_batch = excluded.blocked_by_batch, blocked_by_ordinal = excluded.blocked_by_ordinal, max_chunk = excluded.max_chunk,
	family = excluded.family, frozen_with = excluded.frozen_with, looked_up = excluded.looked_up, state = excluded.state, generation = excluded.generation,
	sends = excluded.sends, used_network = excluded.used_network, used_vendor_error = excluded.used_vendor_error,
	used_rate_limited = excluded.used_rate_limited, used_not_yet = excluded.used_not_yet, used_look_up = excluded.used_look_up,
	ambiguous = excluded.ambiguous, look_up_next = excluded.look_up_next, conflicted = excluded.conflicted`

func (c *troubles) queue(b *pgx.Batch, batch int64) {
	b.Queue(upsertTroubles, batch, c.ordinals, c.attempts, c.firstSent, c.quiet, c.due, c.cutoff,
		c.blockedByBatch, c.blockedBy, c.maxChunk, c.family, c.frozen, c.lookedUp, c.states, c.generations, c.sends,
		c.used[payroll.ClassNetwork], c.used[payroll.ClassVendorError], c.used[payroll.ClassRateLimited],
		c.used[payroll.ClassNotYet], c.used[payroll.ClassLookUp], c.ambiguous, c.lookUpNext, c.conflicted)
}
