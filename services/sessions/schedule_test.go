package sessions_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/testpoll"
	"github.com/windlass-dev/windlass/libs/testwant"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/services/sessions/schedule"
)

func (k *kit) schedules() sessionsv1.ScheduleServiceClient {
	return sessionsv1.NewScheduleServiceClient(k.conn)
}

func (k *kit) schedulesAs(p *policyv1.Principal) sessionsv1.ScheduleServiceClient {
	return sessionsv1.NewScheduleServiceClient(rpctest.ServeAs(k.t, "sessions", k.svc.Register, rpctest.WithPrincipal(p)))
}

// schedule makes a schedule of the agent "assistant" every hour, unless it says something else.
func (k *kit) schedule(v *sessionsv1.Schedule) *sessionsv1.Schedule {
	k.t.Helper()
	if v.GetCron() == "" && v.GetInterval() == "" {
		v.Interval = "1h"
	}
	if v.GetInput() == "" {
		v.Input = "what is new?"
	}
	made, err := k.schedules().CreateSchedule(k.t.Context(), &sessionsv1.CreateScheduleRequest{Schedule: v})
	must(k.t, err)
	return made
}

func (k *kit) scheduled(id string) *sessionsv1.Schedule {
	k.t.Helper()
	v, err := k.schedules().GetSchedule(k.t.Context(), &sessionsv1.GetScheduleRequest{ScheduleId: id})
	must(k.t, err)
	return v
}

// becomes reads a schedule until it is as it should be.
func (k *kit) becomes(id string, ok func(*sessionsv1.Schedule) bool) *sessionsv1.Schedule {
	k.t.Helper()
	var v *sessionsv1.Schedule
	testpoll.Until(k.t, "the schedule is as it should be", func() bool {
		v = k.scheduled(id)
		return ok(v)
	})
	return v
}

func TestScheduleLives(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		k.agent("assistant")
		made := k.schedule(&sessionsv1.Schedule{Id: "morning", Cron: "30 9 * * 1-5", TimeZone: "Europe/Berlin"})
		testwant.Equal(t, "made: AgentId", made.GetAgentId(), "assistant")
		testwant.Equal(t, "made: CreatedBy", made.GetCreatedBy(), "local")
		testwant.Equal(t, "made: Overlap", made.GetOverlap(), "skip")
		testwant.Equal(t, "made: Revision", made.GetRevision(), 1)
		testwant.Len(t, "made: Next", made.GetNext(), 3)
		berlin, err := time.LoadLocation("Europe/Berlin")
		must(t, err)
		if at := made.GetNext()[0].AsTime().In(berlin); at.Hour() != 9 || at.Minute() != 30 || at.Weekday() == time.Sunday ||
			!at.After(time.Now()) {
			t.Errorf("next at %v", at)
		}
		k.becomes("morning", (*sessionsv1.Schedule).GetSynced)
		k.dispatcher.await(t, func(d *dispatcher) bool {
			at := d.timetables["morning"]
			return at.Zone == "Europe/Berlin" && len(at.Calendars) == 1 && at.Every == 0 && at.Revision == 1
		})
		_, err = k.schedules().CreateSchedule(t.Context(),
			&sessionsv1.CreateScheduleRequest{Schedule: &sessionsv1.Schedule{Id: "morning", Input: "x", Interval: "1m"}})
		wantFault(t, err, "already_exists")
		other := k.schedule(&sessionsv1.Schedule{})
		if !strings.HasPrefix(other.GetId(), "sch_") {
			t.Errorf("id %q", other.GetId())
		}
		list, err := k.schedules().ListSchedules(t.Context(), &sessionsv1.ListSchedulesRequest{PageSize: 1})
		must(t, err)
		rest, err := k.schedules().ListSchedules(t.Context(), &sessionsv1.ListSchedulesRequest{PageSize: 1, PageToken: list.GetNextPageToken()})
		must(t, err)
		if list.GetSchedules()[0].GetId() != "morning" || rest.GetSchedules()[0].GetId() != other.GetId() || rest.GetNextPageToken() != "" {
			t.Errorf("lists %v, %v", list, rest)
		}
		now, err := k.schedules().UpdateSchedule(t.Context(), &sessionsv1.UpdateScheduleRequest{
			Schedule:   &sessionsv1.Schedule{Id: "morning", Interval: "15m", Description: "often"},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"interval", "description"}},
		})
		must(t, err)
		testwant.Equal(t, "updated: Cron", now.GetCron(), "")
		testwant.Equal(t, "updated: TimeZone", now.GetTimeZone(), "")
		testwant.Equal(t, "updated: Interval", now.GetInterval(), "15m")
		testwant.Equal(t, "updated: Description", now.GetDescription(), "often")
		testwant.Equal(t, "updated: Revision", now.GetRevision(), 2)
		_, err = k.schedules().UpdateSchedule(t.Context(),
			&sessionsv1.UpdateScheduleRequest{Schedule: &sessionsv1.Schedule{Id: "morning", Description: "x", Revision: 1}})
		wantFault(t, err, "conflict")
		paused, err := k.schedules().PauseSchedule(t.Context(), &sessionsv1.PauseScheduleRequest{ScheduleId: "morning"})
		must(t, err)
		if !paused.GetPaused() || len(paused.GetNext()) != 0 {
			t.Errorf("paused %v", paused)
		}
		k.dispatcher.await(t, func(d *dispatcher) bool {
			return d.timetables["morning"].Paused && d.timetables["morning"].Every == 15*time.Minute
		})
		_, err = k.schedules().ResumeSchedule(t.Context(), &sessionsv1.ResumeScheduleRequest{ScheduleId: "morning"})
		must(t, err)
		k.dispatcher.await(t, func(d *dispatcher) bool { return !d.timetables["morning"].Paused })
		_, err = k.schedules().DeleteSchedule(t.Context(), &sessionsv1.DeleteScheduleRequest{ScheduleId: "morning"})
		must(t, err)
		_, err = k.schedules().GetSchedule(t.Context(), &sessionsv1.GetScheduleRequest{ScheduleId: "morning"})
		wantFault(t, err, "not_found")
		again := k.schedule(&sessionsv1.Schedule{Id: "morning", Interval: "2h"})
		k.becomes("morning", (*sessionsv1.Schedule).GetSynced)
		k.dispatcher.await(t, func(d *dispatcher) bool { return d.timetables["morning"].Every == 2*time.Hour })
		if again.GetDescription() != "" {
			t.Errorf("made again %v", again)
		}
	})
}

func TestScheduleSaysWhatIsWrong(t *testing.T) {
	k := newKit(t, options{idle: true})
	k.agent("assistant")
	ses := k.session().GetId()
	for _, row := range []struct {
		name  string
		v     *sessionsv1.Schedule
		code  string
		field string
		says  string
	}{
		{"no time", &sessionsv1.Schedule{Input: "x"}, "invalid_argument", "schedule.cron", `interval, for example "15m"`},
		{"two times", &sessionsv1.Schedule{Input: "x", Cron: "* * * * *", Interval: "5m"}, "invalid_argument", "schedule.interval", "not both"},
		{"a bad cron", &sessionsv1.Schedule{Input: "x", Cron: "61 * * * *"}, "invalid_argument", "schedule.cron", `minute "61"`},
		{"a cron with six fields", &sessionsv1.Schedule{Input: "x", Cron: "0 0 * * * *"}, "invalid_argument", "schedule.cron", "30 9 * * 1-5"},
		{
			"a bad zone", &sessionsv1.Schedule{Input: "x", Cron: "0 9 * * *", TimeZone: "Mars/Olympus"}, "invalid_argument", "schedule.time_zone",
			"Europe/Berlin",
		},
		{
			"a zone of this machine", &sessionsv1.Schedule{Input: "x", Cron: "0 9 * * *", TimeZone: "Local"}, "invalid_argument",
			"schedule.time_zone", "Europe/Berlin",
		},
		{
			"a zone without cron", &sessionsv1.Schedule{Input: "x", Interval: "1h", TimeZone: "UTC"}, "invalid_argument", "schedule.time_zone",
			"belongs to cron",
		},
		{"a bad interval", &sessionsv1.Schedule{Input: "x", Interval: "often"}, "invalid_argument", "schedule.interval", "1h30m"},
		{"under a minute", &sessionsv1.Schedule{Input: "x", Interval: "30s"}, "invalid_argument", "schedule.interval", "at least 1m0s"},
		{"too short an interval", &sessionsv1.Schedule{Input: "x", Interval: "1500ms"}, "invalid_argument", "schedule.interval", "whole seconds"},
		{"no input", &sessionsv1.Schedule{Interval: "1h"}, "invalid_argument", "schedule.input", "empty"},
		{
			"agent and session", &sessionsv1.Schedule{Input: "x", Interval: "1h", AgentId: "assistant", SessionId: ses}, "invalid_argument",
			"schedule.session_id", "not both",
		},
		{"an unknown agent", &sessionsv1.Schedule{Input: "x", Interval: "1h", AgentId: "nobody"}, "not_found", "", "nobody"},
		{"an unknown session", &sessionsv1.Schedule{Input: "x", Interval: "1h", SessionId: "ses_none"}, "not_found", "", "ses_none"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := k.schedules().CreateSchedule(t.Context(), &sessionsv1.CreateScheduleRequest{Schedule: row.v})
			var fields []string
			if row.field != "" {
				fields = append(fields, row.field)
			}
			wantFault(t, err, row.code, fields...)
			if said := fault.From(err); !strings.Contains(said.Text(), row.says) && !strings.Contains(said.Fields[0].Message, row.says) {
				t.Errorf("says %q, want %q", said.Text(), row.says)
			}
		})
	}
	k.schedule(&sessionsv1.Schedule{Id: "one", Cron: "0 9 * * *"})
	_, err := k.schedules().UpdateSchedule(t.Context(),
		&sessionsv1.UpdateScheduleRequest{Schedule: &sessionsv1.Schedule{Id: "one", Cron: "often"}})
	wantFault(t, err, "invalid_argument", "schedule.cron")
	_, err = k.schedules().UpdateSchedule(t.Context(), &sessionsv1.UpdateScheduleRequest{
		Schedule: &sessionsv1.Schedule{Id: "one"}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"when"}},
	})
	wantFault(t, err, "invalid_argument", "update_mask")
}

func TestAScheduleBelongsToWhoMadeIt(t *testing.T) {
	k := newKit(t, options{idle: true})
	k.agent("assistant")
	ann, bob, admin := k.schedulesAs(authn.User("ann")), k.schedulesAs(authn.User("bob")), k.schedulesAs(authn.User("root", "admin"))
	_, err := ann.CreateSchedule(t.Context(), &sessionsv1.CreateScheduleRequest{Schedule: &sessionsv1.Schedule{
		Id: "hers", Input: "x",
		Interval: "1h",
	}})
	must(t, err)
	_, err = bob.GetSchedule(t.Context(), &sessionsv1.GetScheduleRequest{ScheduleId: "hers"})
	wantFault(t, err, "not_found")
	_, err = bob.RunSchedule(t.Context(), &sessionsv1.RunScheduleRequest{ScheduleId: "hers"})
	wantFault(t, err, "not_found")
	list, err := bob.ListSchedules(t.Context(), &sessionsv1.ListSchedulesRequest{})
	must(t, err)
	if len(list.GetSchedules()) != 0 {
		t.Errorf("bob sees %v", list)
	}
	_, err = admin.UpdateSchedule(t.Context(), &sessionsv1.UpdateScheduleRequest{Schedule: &sessionsv1.Schedule{
		Id:    "hers",
		Input: "do it for me",
	}})
	wantFault(t, err, "failed_precondition")
	_, err = admin.UpdateSchedule(t.Context(), &sessionsv1.UpdateScheduleRequest{Schedule: &sessionsv1.Schedule{Id: "hers", Interval: "2h"}})
	must(t, err)
	fire, err := admin.RunSchedule(t.Context(), &sessionsv1.RunScheduleRequest{ScheduleId: "hers"})
	must(t, err)
	turn, err := k.as(authn.User("ann")).GetTurn(t.Context(), &sessionsv1.GetTurnRequest{TurnId: fire.GetTurnId()})
	must(t, err)
	if turn.GetSubject() != "ann" || turn.GetScheduleId() != "hers" {
		t.Errorf("turn %v", turn)
	}
}

func TestTemporalLearnsOfSchedulesLater(t *testing.T) {
	k := newKit(t, options{cfg: sessions.Config{
		SweepInterval: 20 * time.Millisecond, Schedules: schedule.Config{CheckInterval: 50 * time.Millisecond},
	}})
	k.agent("assistant")
	k.dispatcher.set(func(d *dispatcher) { d.fail = fault.Internal(nil) }) // it is away
	if made := k.schedule(&sessionsv1.Schedule{Id: "one"}); made.GetSynced() {
		t.Error("made while Temporal is away, and synced")
	}
	k.dispatcher.set(func(d *dispatcher) { d.fail = nil })
	there := func(d *dispatcher) bool { return d.timetables["one"].ScheduleID == "one" }
	k.dispatcher.await(t, there)
	k.becomes("one", (*sessionsv1.Schedule).GetSynced)
	k.dispatcher.set(func(d *dispatcher) { d.timetables = nil }) // somebody deleted it by hand
	k.dispatcher.await(t, there)
	k.dispatcher.set(func(d *dispatcher) { d.fail = fault.Internal(nil) })
	_, err := k.schedules().DeleteSchedule(t.Context(), &sessionsv1.DeleteScheduleRequest{ScheduleId: "one"})
	must(t, err)
	k.dispatcher.set(func(d *dispatcher) { d.fail = nil })
	k.dispatcher.await(t, func(d *dispatcher) bool { return !there(d) })
}

func TestThereAreOnlySoManySchedules(t *testing.T) {
	k := newKit(t, options{cfg: sessions.Config{Schedules: schedule.Config{MaxSchedules: 3, MaxPerUser: 2}}})
	k.agent("assistant")
	create := func(c sessionsv1.ScheduleServiceClient) (*sessionsv1.Schedule, error) {
		return c.CreateSchedule(t.Context(), &sessionsv1.CreateScheduleRequest{Schedule: &sessionsv1.Schedule{Input: "x", Interval: "1h"}})
	}
	mine, eves := k.schedules(), k.schedulesAs(&policyv1.Principal{
		Tenant: "default", Subject: "eve",
		Kind: policyv1.PrincipalKind_PRINCIPAL_KIND_USER,
	})
	_, err := create(mine)
	must(t, err)
	last, err := create(mine)
	must(t, err)
	if _, err = create(mine); fault.CodeOf(err) != "limit_reached" ||
		!strings.Contains(fault.From(err).Todo, "sessions.schedules.max_per_user") {
		t.Errorf("a third of one user: %v", err)
	}
	_, err = create(eves)
	must(t, err)
	if _, err = create(eves); fault.CodeOf(err) != "limit_reached" ||
		!strings.Contains(fault.From(err).Todo, "sessions.schedules.max_schedules") {
		t.Errorf("a fourth of all: %v", err)
	}
	_, err = mine.DeleteSchedule(t.Context(), &sessionsv1.DeleteScheduleRequest{ScheduleId: last.GetId()})
	must(t, err)
	_, err = create(eves)
	must(t, err)
}
