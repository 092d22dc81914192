package convert

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
)

// Workers of an earlier version write and read durations in milliseconds and times in Unix microseconds. They may call a new service until
// they are replaced, so requests are read in both forms, and responses that such workers need have both.

// TTL returns how long the lease of a claim or a renewal lasts.
func TTL(req interface {
	GetTtl() *durationpb.Duration
	GetTtlMs() int32
},
) time.Duration {
	return duration(req.GetTtl(), int64(req.GetTtlMs()))
}

// Backoff returns the time before a released step can be claimed again.
func Backoff(req *executionv1.ReleaseStepRequest) time.Duration {
	return duration(req.GetBackoff(), int64(req.GetRestMs()))
}

// DueTime returns when a fire was due.
func DueTime(req *executionv1.FireScheduleRequest) time.Time {
	if req.GetDueTime() == nil {
		return time.UnixMicro(req.GetDueMicros())
	}
	return req.GetDueTime().AsTime()
}

// expiresIn returns the time until a wait expires, nil for the default. Rows of earlier versions have milliseconds too.
func expiresIn(r interface {
	GetExpiresIn() *durationpb.Duration
	GetExpiresInMs() int64
},
) *durationpb.Duration {
	if d := duration(r.GetExpiresIn(), r.GetExpiresInMs()); d != 0 {
		return durationpb.New(d)
	}
	return nil
}

func duration(d *durationpb.Duration, milliseconds int64) time.Duration {
	if d == nil {
		return time.Duration(milliseconds) * time.Millisecond
	}
	return d.AsDuration()
}
