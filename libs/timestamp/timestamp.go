// Package timestamp converts times to those of messages, where none is nil and not the year 1 or 1970.
package timestamp

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// Of converts a time, nil for the zero time.
func Of(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// OfMicros converts Unix microseconds, as tables have them, nil for 0.
func OfMicros(us int64) *timestamppb.Timestamp {
	if us == 0 {
		return nil
	}
	return timestamppb.New(time.UnixMicro(us))
}

// Time converts a timestamp to a time in UTC, the zero time for nil.
func Time(ts *timestamppb.Timestamp) time.Time {
	if ts == nil {
		return time.Time{}
	}
	return ts.AsTime()
}
