package httpapi

import (
	"strconv"
	"strings"
	"time"
)

// maxWait bounds a long poll.
const maxWait = 60 * time.Second

// preference finds one preference in a Prefer header (RFC 7240): the first that
// is given counts, names are compared without case, and parameters of a
// preference are ignored. "" where it is absent or has no value.
func preference(header, name string) string {
	for part := range strings.SplitSeq(header, ",") {
		main, _, _ := strings.Cut(part, ";")
		key, value, _ := strings.Cut(main, "=")
		if strings.EqualFold(strings.TrimSpace(key), name) {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return ""
}

// waitPreferred reads `wait=N`: at most 60 seconds, 0 where it is absent or no
// number, since a preference that cannot be understood is ignored.
func waitPreferred(header string) time.Duration {
	seconds, err := strconv.ParseUint(preference(header, "wait"), 10, 63)
	if err != nil {
		return 0
	}
	return min(time.Duration(min(seconds, 3600))*time.Second, maxWait)
}

// handlingPreferred reads `handling=strict` or `handling=lenient`; "" where
// neither is asked for.
func handlingPreferred(header string) string {
	if handling := strings.ToLower(preference(header, "handling")); handling == "strict" || handling == "lenient" {
		return handling
	}
	return ""
}

// etag is the weak tag of a version.
func etag(version int64) string { return `W/"` + strconv.FormatInt(version, 10) + `"` }

// matches reports whether an If-None-Match header names the version.
func matches(ifNoneMatch string, version int64) bool {
	for tag := range strings.SplitSeq(ifNoneMatch, ",") {
		tag = strings.TrimSpace(tag)
		if tag == "*" || strings.TrimPrefix(tag, "W/") == strings.TrimPrefix(etag(version), "W/") {
			return true
		}
	}
	return false
}
