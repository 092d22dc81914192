package sessions

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// nextTimes is how many of a schedule's next times are shown.
const nextTimes = 3

// scheduleOf is a stored schedule as its owner set it.
func scheduleOf(row store.Schedule) (*sessionsv1.Schedule, error) {
	v := &sessionsv1.Schedule{}
	if err := proto.Unmarshal(row.Data, v); err != nil {
		return nil, fmt.Errorf("schedule %s: %w", row.ID, err)
	}
	v.Id, v.Paused = row.ID, row.Paused
	return v, nil
}

// scheduleToProto is a schedule as callers see it, without its fires.
func scheduleToProto(row store.Schedule, nowUs int64) (*sessionsv1.Schedule, error) {
	v, err := scheduleOf(row)
	if err != nil {
		return nil, err
	}
	or(&v.DisplayName, row.ID)
	or(&v.Overlap, overlapSkip)
	if v.GetCron() != "" {
		or(&v.TimeZone, "UTC")
	}
	v.CreatedBy, v.LastTurnId, v.LastError, v.LastFireTime = row.Subject, row.LastTurnID, row.LastError, stamp(row.LastFireUs)
	v.Revision, v.Synced, v.CreateTime, v.UpdateTime = uint32(row.Revision), row.Synced == row.Revision, stamp(row.CreateUs), stamp(row.UpdateUs)
	if row.Paused {
		return v, nil
	}
	for at := time.UnixMicro(nowUs).UTC(); len(v.Next) < nextTimes; {
		if at = nextTime(v, at); at.IsZero() {
			break
		}
		v.Next = append(v.Next, timestamppb.New(at))
	}
	return v, nil
}

func fireToProto(f store.Fire) *sessionsv1.ScheduleFire {
	return &sessionsv1.ScheduleFire{
		ScheduleId: f.ScheduleID, Time: stamp(f.DueUs), Outcome: f.Outcome, Manual: f.Manual, TurnId: f.TurnID, SessionId: f.SessionID, Error: f.Error,
	}
}
