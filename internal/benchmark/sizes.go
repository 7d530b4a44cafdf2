package benchmark

import "time"

// Sizes say how much work the figures are measured with.
type Sizes struct {
	Rounds   int           // of a comparison, each side once a round; a first round is not counted
	Lines    int           // of a batch in a comparison
	Small    int           // lines of the batch that the largest is compared with
	Largest  int           // lines of the largest batch
	Requests int           // status requests behind a percentile, at least
	Pacing   time.Duration // how long the vendor's rate is used
}

// Full is what the page of figures is made with.
func Full() Sizes {
	return Sizes{Rounds: 5, Lines: 100_000, Small: 10_000, Largest: 1_000_000, Requests: 1000, Pacing: 10 * time.Second}
}

// Short shows that everything works, and says nothing about speed.
func Short() Sizes {
	return Sizes{Rounds: 1, Lines: 5_000, Small: 1_000, Largest: 10_000, Requests: 20, Pacing: 2 * time.Second}
}
