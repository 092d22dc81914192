package convert

import (
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/store/scheduledb"
)

// ScheduleFromProto converts the fields that an owner sets.
func ScheduleFromProto(v *sessionsv1.Schedule) scheduledb.ScheduleSpec {
	return scheduledb.ScheduleSpec{
		DisplayName: displayName(v), Description: v.GetDescription(), AgentID: v.GetAgentId(), SessionID: v.GetSessionId(),
		Input: v.GetInput(), Params: v.GetParams(), Banks: v.GetBanks(), Cron: v.GetCron(), TimeZone: v.GetTimeZone(), Interval: v.GetInterval(),
		Overlap: scheduledb.Overlap(v.GetOverlap()),
		Paused:  v.GetPaused(),
	}
}
