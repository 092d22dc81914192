package api

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// timestamp converts a time, nil for the zero time.
func timestamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
