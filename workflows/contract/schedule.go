package contract

// ScheduleWorkflow is the type name of the workflow that Temporal's schedules start: it notifies the sessions service that a schedule
// is due.
const ScheduleWorkflow = "ScheduledFire"

// ScheduleInput is what the workflow of a schedule starts from.
type ScheduleInput struct {
	// Tenant the schedule belongs to.
	Tenant string `json:"tenant"`
	// ScheduleID is the schedule's id in Windlass.
	ScheduleID string `json:"schedule_id"`
}

// ScheduleResult is the result of the workflow of a schedule.
type ScheduleResult struct {
	// Outcome is the outcome of the fire, see windlass.sessions.v1.ScheduleFire.
	Outcome string `json:"outcome"`
	// TurnID is the turn that it started.
	TurnID string `json:"turn_id,omitempty"`
}

// ScheduleID is the id of a schedule in Temporal.
func ScheduleID(tenant, id string) string { return "windlass:" + tenant + ":" + id }
