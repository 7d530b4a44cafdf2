package sandbox

import "math/rand/v2"

// shape spoils the items of an answer as the faults of its lines ask. It is
// pure; nothing that was done is undone by it.
func (b *book) shape(results []Result, fates []itemFate, luck dice) []Result {
	shaped := make([]Result, 0, len(results))
	for i, r := range results {
		shaped = append(shaped, b.shapeItem(r, fates[i].fault)...)
	}
	if b.cfg.ShuffleItems {
		order := rand.New(rand.NewPCG(luck.bits("order"), luck.seed))
		order.Shuffle(len(shaped), func(i, j int) { shaped[i], shaped[j] = shaped[j], shaped[i] })
	}
	return shaped
}

func (b *book) shapeItem(r Result, f Fault) []Result {
	switch f.Kind {
	case KindStatus:
		if f.Commits() {
			r.Reference = ""
			return []Result{b.faulted(r, f)}
		}
	case KindMissing:
		return nil
	case KindDoubled:
		return []Result{r, r}
	case KindContradicted:
		return []Result{r, {Key: r.Key, Status: 422, Detail: "as asked: " + f.String()}}
	case KindForeign:
		return []Result{r, {Key: foreignKey, Status: 201, Reference: "sbx-foreign"}}
	default:
	}
	return []Result{r}
}

// foreignKey is a key that nobody sent.
const foreignKey = "pl_foreign_period_000000000000000000000000"

// allDone says whether every item reports a payment: then the answer is a 200,
// else a 207.
func allDone(results []Result) bool {
	for _, r := range results {
		if !isDone(r.Status) {
			return false
		}
	}
	return true
}
