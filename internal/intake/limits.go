package intake

import "time"

// Limits bound one submission. A zero field means its default.
type Limits struct {
	Lines     int           // items in a batch; 1,000,000
	Bytes     int64         // of the body, as it arrives and decoded; 512 MiB
	RowBytes  int           // of one row, and of a JSON envelope's members together; 1 MiB
	Ratio     int64         // decoded bytes for one of gzip; 200. Looked at above RatioFree.
	RatioFree int64         // decoded bytes that are free of Ratio; 1 MiB
	Rate      int64         // bytes a second that must arrive, over any Window; 1 KiB
	Window    time.Duration // of Rate, in time spent waiting for the client; 60 s
	Memory    int           // bytes of ready rows that are kept in memory; 4 MiB
}

func (l Limits) withDefaults() Limits {
	setDefault(&l.Lines, 1_000_000)
	setDefault(&l.Bytes, 512<<20)
	setDefault(&l.RowBytes, 1<<20)
	setDefault(&l.Ratio, 200)
	setDefault(&l.RatioFree, 1<<20)
	setDefault(&l.Rate, 1<<10)
	setDefault(&l.Window, time.Minute)
	setDefault(&l.Memory, 4<<20)
	return l
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
