// Package schedule has the commands for schedules, which start turns by the clock.
package schedule

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/enum"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// Noun returns "windlass schedule".
func Noun() command.Noun {
	return command.Noun{
		Name: "schedule", Plural: "schedules", Short: "Schedules: turns that begin by the clock", Manifest: true, More: commands,
		List: &sessionsv1.ListSchedulesRequest{}, Get: &sessionsv1.GetScheduleRequest{}, Remove: &sessionsv1.DeleteScheduleRequest{},
		Header: []string{"ID", "WHEN", "WHERE", "STATE", "NEXT", "LAST TURN", "INPUT"},
		Read: command.Typed((*sessionsv1.Schedule).GetId, func(m *sessionsv1.Schedule, now time.Time) []string {
			next := ""
			if len(m.GetNext()) > 0 {
				next = "in " + output.Ago(m.GetNext()[0].AsTime(), now)
			}
			return []string{
				m.GetId(), timesOf(m), strings.TrimSpace(m.GetAgentId() + " " + m.GetSessionId()), output.Cell(stateOf(m)), next,
				m.GetLastTurnId(), output.Cell(m.GetInput()),
			}
		}),
	}
}

func timesOf(m *sessionsv1.Schedule) string {
	if m.GetInterval() != "" {
		return "every " + m.GetInterval()
	}
	return m.GetCron() + " " + m.GetTimeZone()
}

func stateOf(m *sessionsv1.Schedule) string {
	switch {
	case m.GetPaused():
		return "paused"
	case m.GetLastError() != "":
		return "failing: " + m.GetLastError()
	case !m.GetSynced():
		return "not known to Temporal yet"
	}
	return "ok"
}

func commands(r *command.Runner) []*cobra.Command {
	create := &cobra.Command{
		Use: "create INPUT", Short: "Start a turn with this input on a schedule", Args: cobra.ExactArgs(1),
		Example: "windlass schedule create --id morning --agent assistant --cron '30 9 * * 1-5' --time-zone Europe/Berlin 'What is new?'\n" +
			"windlass schedule create --session ses_… --every 15m 'Look again.'",
		RunE: r.Run(func(c *command.Call) error {
			s := &sessionsv1.Schedule{Input: c.Args[0]}
			if err := errors.Join(c.Given(s, append(fields, "id", "paused")...), c.AddParams(s)); err != nil {
				return err
			}
			return Noun().Send(c, &sessionsv1.CreateScheduleRequest{Schedule: s})
		}),
	}
	create.Flags().String("id", "", "name of the schedule; empty = one is made")
	create.Flags().Bool("paused", false, "do not fire before it is resumed")
	flags(create)
	update := &cobra.Command{
		Use: "update ID", Short: "Change a schedule", Args: cobra.ExactArgs(1),
		RunE: r.Run(func(c *command.Call) error {
			s := &sessionsv1.Schedule{Id: c.Args[0]}
			changed, err := c.Changed(s, append(fields, "input")...)
			if err = errors.Join(err, c.AddParams(s)); err != nil {
				return err
			}
			if s.Params != nil {
				changed.Paths = append(changed.Paths, "params")
			}
			if len(changed.GetPaths()) == 0 {
				return app.Usage("say what to change, for example --every 15m")
			}
			return Noun().Send(c, &sessionsv1.UpdateScheduleRequest{Schedule: s, UpdateMask: changed})
		}),
	}
	update.Flags().String("input", "", "what the agent is asked each time")
	flags(update)
	verb := func(use, short string, req proto.Message) *cobra.Command {
		return &cobra.Command{
			Use: use + " ID", Short: short, Args: cobra.ExactArgs(1),
			RunE: r.Run(func(c *command.Call) error { return Noun().Send(c, client.Named(req, c.Args[0])) }),
		}
	}
	now := &cobra.Command{
		Use: "run ID", Short: "Fire a schedule now, in addition to its times", Args: cobra.ExactArgs(1), RunE: r.Run(fire),
	}
	return []*cobra.Command{
		create, update, verb("pause", "Keep a schedule from firing", &sessionsv1.PauseScheduleRequest{}),
		verb("resume", "Let a paused schedule fire again", &sessionsv1.ResumeScheduleRequest{}), now,
	}
}

func flags(cmd *cobra.Command) {
	cmd.Flags().String("agent", "", "agent of the session that each turn is given")
	cmd.Flags().String("session", "", "session that each turn is added to, in place of --agent")
	cmd.Flags().String("params", "", `params for the agent, as JSON: '{"team":"red"}'`)
	cmd.Flags().StringArray("bank", nil, "bank that its sessions answer from, in place of the agent's; may be repeated")
	cmd.Flags().String("cron", "", "when: MINUTE HOUR DAY-OF-MONTH MONTH DAY-OF-WEEK, as in '30 9 * * 1-5'")
	cmd.Flags().String("time-zone", "", "time zone of --cron, as in Europe/Berlin; empty = UTC")
	cmd.Flags().String("every", "", "how often, in place of --cron: 15m, 1h30m")
	cmd.Flags().String("overlap", "", "while a turn of the schedule runs: skip (default), queue or allow")
	cmd.Flags().String("display-name", "", "name for people")
	cmd.Flags().String("description", "", "what it is for")
}

// fields are what flags set.
var fields = []string{
	"agent=agent_id", "session=session_id", "bank=banks", "cron", "time-zone", "every=interval", "overlap", "display-name", "description",
}

// fire prints the result of a fire; its name is the turn's id.
func fire(c *command.Call) error {
	var f sessionsv1.ScheduleFire
	raw, err := c.Do(&sessionsv1.RunScheduleRequest{ScheduleId: c.Args[0]}, &f)
	if err != nil {
		return err
	}
	return c.Printf(f.GetTurnId(), raw, "%s", output.Line(strings.Join([]string{enum.Name(f.GetOutcome()), f.GetTurnId(), f.GetError()}, " ")))
}
