package sse

import (
	"net/http"
	"net/url"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// cursor returns the position to resume at: the header of a reconnecting EventSource, else ?after=. Empty means from the beginning.
func cursor(r *http.Request, query url.Values) (string, error) {
	after := r.Header.Get("Last-Event-ID")
	if after == "" {
		after = query.Get("after")
	}
	if after != "" && !wellFormed(after) {
		return "", fault.New(codes.InvalidArgument, faultv1.Reason_REASON_INVALID_CURSOR,
			"%q is no cursor", strings.ToValidUTF8(after[:min(len(after), 64)], "\uFFFD")).
			Hint("Use the id of an event, or leave it out to read from the beginning.")
	}
	return after, nil
}

// wellFormed accepts SEQ and SEQ.N, followed by ~ID:SEQ for sub-agents; the sessions service checks whether the journal has these
// positions.
func wellFormed(c string) bool {
	parts := strings.Split(c, "~")
	for _, part := range parts[1:] {
		if id, at, ok := strings.Cut(part, ":"); !ok || id == "" || at != "e" && !isPosition(at) {
			return false
		}
	}
	return len(c) <= 4096 && isPosition(parts[0])
}

func isPosition(c string) bool {
	seq, n, dotted := strings.Cut(c, ".")
	return isDecimal(seq) && (!dotted || isDecimal(n))
}

func isDecimal(s string) bool {
	return s != "" && len(s) <= 10 && strings.Trim(s, "0123456789") == ""
}
