package ids

import (
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// Valid reports whether id has the form that New returns. It does not check that the resource exists.
func Valid(prefix, id string) bool {
	_, ok := parse(prefix, id)
	return ok
}

// Time returns when the id was created, to the millisecond; false if the id does not have the form that New returns.
func Time(id string) (time.Time, bool) {
	prefix, _, _ := strings.Cut(id, "_")
	u, ok := parse(prefix, id)
	if !ok {
		return time.Time{}, false
	}
	return ulid.Time(u.Time()), true
}

func parse(prefix, id string) (ulid.ULID, bool) {
	body, ok := strings.CutPrefix(id, prefix+"_")
	if !ok || strings.ToLower(body) != body {
		return ulid.ULID{}, false
	}
	u, err := ulid.ParseStrict(body)
	return u, err == nil
}
