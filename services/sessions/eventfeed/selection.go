package eventfeed

import (
	"slices"
	"time"

	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// sources are those of the streams.
var sources = [streams]string{registry: "/windlass/registry", sessions: store.EventSource, policy: "/windlass/policy"}

// Selection selects events; all conditions that are set must hold.
type Selection struct {
	// Tenant is whose events are selected. Owner leaves out the events of other owners; empty = none.
	Tenant, Owner string
	// Types, Source and Subject are patterns; empty = all.
	Types           []string
	Source, Subject string
	// Since and Until bound the time, Until exclusively; zero = unbounded.
	Since, Until time.Time
}

// UnknownType returns the first pattern that no type matches, "" if there is none.
func (s Selection) UnknownType() string {
	for _, pattern := range s.Types {
		if !slices.ContainsFunc(eventlog.Types(""), func(t string) bool { return glob.Match(pattern, t) }) {
			return pattern
		}
	}
	return ""
}

// query returns what to read of a stream; false if nothing of it is selected.
func (s Selection) query(i int) (eventlog.Query, bool) {
	q := eventlog.Query{Tenant: s.Tenant, Owner: s.Owner, Subject: s.Subject, Since: s.Since, Until: s.Until}
	if s.Source != "" && !glob.Match(s.Source, sources[i]) {
		return q, false
	}
	if len(s.Types) == 0 {
		return q, true
	}
	for _, t := range eventlog.Types(sources[i]) {
		if slices.ContainsFunc(s.Types, func(pattern string) bool { return glob.Match(pattern, t) }) {
			q.Types = append(q.Types, t)
		}
	}
	return q, len(q.Types) > 0
}
