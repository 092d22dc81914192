package convert

import (
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// ScheduleFromProto converts the fields that an owner sets.
func ScheduleFromProto(v *sessionsv1.Schedule) store.ScheduleSpec {
	return store.ScheduleSpec{
		DisplayName: v.GetDisplayName(), Description: v.GetDescription(), AgentID: v.GetAgentId(), SessionID: v.GetSessionId(), Input: v.GetInput(),
		Params: v.GetParams(), Cron: v.GetCron(), TimeZone: v.GetTimeZone(), Interval: v.GetInterval(), Overlap: store.Overlap(v.GetOverlap()),
		Paused: v.GetPaused(),
	}
}
