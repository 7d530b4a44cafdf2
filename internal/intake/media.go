package intake

import (
	"mime"
	"strings"
)

// The media types that are read.
const (
	mediaJSON   = "application/json"
	mediaNDJSON = "application/x-ndjson"
	mediaCSV    = "text/csv"
)

// mediaOf reads a Content-Type. Parameters are ignored but for charset, which
// must be UTF-8 where it is given: nothing is ever converted.
func mediaOf(contentType string) (string, error) {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || (media != mediaJSON && media != mediaNDJSON && media != mediaCSV) {
		return "", refuseMedia("Content-Type", "must be application/json, application/x-ndjson or text/csv")
	}
	if charset, given := params["charset"]; given && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "us-ascii") {
		return "", refuseMedia("Content-Type", "must not have a charset other than utf-8")
	}
	return media, nil
}

// gzipped reads a Content-Encoding.
func gzipped(encoding string) (bool, error) {
	switch {
	case encoding == "":
		return false, nil
	case strings.EqualFold(encoding, "gzip"):
		return true, nil
	default:
		return false, refuseMedia("Content-Encoding", "must be gzip or absent")
	}
}

func refuseMedia(header, detail string) error {
	return &Error{Code: UnsupportedMediaType, Faults: []Fault{{Parameter: header, Detail: detail}}}
}
