package sse

import (
	"net/http"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/gateway/rest"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// cursor finds where to go on: the header of a reconnecting EventSource, else ?after=. Empty means from the beginning.
func cursor(r *http.Request) (string, error) {
	query, err := rest.Query(r.URL)
	if err != nil {
		return "", err
	}
	for name := range query {
		if name != "after" {
			return "", rest.UnknownParameter(name, []string{"after"})
		}
	}
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

// wellFormed accepts SEQ and SEQ.N; whether the journal has such a place is for the sessions service to say.
func wellFormed(c string) bool {
	seq, n, dotted := strings.Cut(c, ".")
	return digits(seq) && (!dotted || digits(n))
}

func digits(s string) bool {
	return s != "" && len(s) <= 10 && strings.Trim(s, "0123456789") == ""
}
