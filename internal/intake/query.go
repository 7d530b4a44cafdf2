package intake

import (
	"maps"
	"net/url"
	"slices"
)

// queryEnvelope reads the envelope of a format whose body has no room for one.
func queryEnvelope(query url.Values) *envelope {
	e := &envelope{inQuery: true}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		switch values := query[name]; {
		case name == fieldCallback:
			e.blame(name, callbackRemedy)
		case !slices.Contains(envelopeFields, name):
			e.blame(name, "is not known here")
		case len(values) != 1:
			e.blame(name, "is given more than once: give it once")
		default:
			e.set(name, values[0])
		}
	}
	return e
}

// refuseQuery refuses an envelope in the query where the body has its own: which
// of the two counts could not be known.
func refuseQuery(query url.Values) error {
	if len(query) == 0 {
		return nil
	}
	e := &envelope{inQuery: true}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		e.blame(name, "belongs into the body when that is JSON")
	}
	return &Error{Code: InvalidParameter, Faults: e.faults}
}
