package benchmark

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// measureRate lets a pay run use a vendor's limit over real time, and reads in
// the vendor's own list of arrivals how much of it was used, and whether it was
// ever exceeded.
func measureRate(l *lab) (readings []Reading, err error) {
	db, err := l.database()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.close(l.ctx)) }()
	g, err := l.startGateway(db.url)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.stop()) }()
	permitted := pacedLimit * (1 - pacedHeadroom)
	_, period := l.payRun()
	begun := time.Now()
	lines := int((l.Sizes.Pacing+time.Second).Seconds()*permitted) * pacedChunk
	if _, err := g.endToEnd(l.ctx, paced.name, period, newNDJSON(lines)); err != nil {
		return nil, err
	}
	arrivals, err := l.arrivalsSince(l.ctx, begun)
	if err != nil {
		return nil, err
	}
	used := steadyRate(arrivals, time.Second) / permitted * 100
	return []Reading{
		{used, fmt.Sprintf("%d requests in %.1f s", len(arrivals), time.Since(begun).Seconds())},
		{float64(mostWithin(arrivals, time.Second)), "of " + fmt.Sprint(len(arrivals)) + " arrivals at the vendor"},
	}, nil
}

// arrivalsSince asks the vendor when requests arrived.
func (l *lab) arrivalsSince(ctx context.Context, begun time.Time) (arrivals []int64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, l.vendorURL+"/arrivals", http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	var all []int64
	if err := json.NewDecoder(response.Body).Decode(&all); err != nil {
		return nil, err
	}
	for i, at := range all {
		if at >= begun.UnixNano() {
			return all[i:], nil
		}
	}
	return nil, errors.New("nothing arrived at the vendor")
}

// steadyRate is how many requests a second arrived after the first so long:
// what a start costs is no part of it.
func steadyRate(arrivals []int64, after time.Duration) float64 {
	steady := arrivals
	for len(steady) > 0 && steady[0]-arrivals[0] < int64(after) {
		steady = steady[1:]
	}
	if len(steady) < 2 {
		return 0
	}
	return float64(len(steady)-1) / time.Duration(steady[len(steady)-1]-steady[0]).Seconds()
}

// mostWithin is the largest number of arrivals in any window of the length,
// which holds its beginning and not its end.
func mostWithin(arrivals []int64, window time.Duration) (most int) {
	first := 0
	for i, at := range arrivals {
		for at-arrivals[first] >= int64(window) {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}
