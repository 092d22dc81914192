// Package schedule has the commands for schedules, which start turns by the clock.
package schedule

import (
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/enum"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

const path = "/v1/schedules"

// Noun returns "windlass schedule".
func Noun() command.Noun {
	return command.Noun{
		Name: "schedule", Plural: "schedules", Short: "Schedules: turns that begin by the clock", Path: path, Get: true, Remove: true,
		Manifest: true, More: commands,
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
			body, err := fields(c)
			if err != nil {
				return err
			}
			body["input"] = c.Args[0]
			maps.Copy(body, c.Given("id"))
			return Noun().Send(c, client.Request{Method: http.MethodPost, Path: path, Body: body})
		}),
	}
	create.Flags().String("id", "", "name of the schedule; empty = one is made")
	create.Flags().Bool("paused", false, "do not fire before it is resumed")
	flags(create)
	update := &cobra.Command{
		Use: "update ID", Short: "Change a schedule", Args: cobra.ExactArgs(1),
		RunE: r.Run(func(c *command.Call) error {
			body, err := fields(c)
			if err != nil {
				return err
			}
			maps.Copy(body, c.Changed("input"))
			if len(body) == 0 {
				return app.Usage("say what to change, for example --every 15m")
			}
			return Noun().Send(c, client.Request{Method: http.MethodPatch, Path: path + client.Path(c.Args[0]), Body: body})
		}),
	}
	update.Flags().String("input", "", "what the agent is asked each time")
	flags(update)
	verb := func(use, short string) *cobra.Command {
		return &cobra.Command{
			Use: use + " ID", Short: short, Args: cobra.ExactArgs(1),
			RunE: r.Run(func(c *command.Call) error { return Noun().Send(c, verbRequest(c, use)) }),
		}
	}
	now := &cobra.Command{
		Use: "run ID", Short: "Fire a schedule now, in addition to its times", Args: cobra.ExactArgs(1), RunE: r.Run(fire),
	}
	return []*cobra.Command{
		create, update, verb("pause", "Keep a schedule from firing"), verb("resume", "Let a paused schedule fire again"), now,
	}
}

func flags(cmd *cobra.Command) {
	cmd.Flags().String("agent", "", "agent of the session that each turn is given")
	cmd.Flags().String("session", "", "session that each turn is added to, in place of --agent")
	cmd.Flags().String("params", "", `params for the agent, as JSON: '{"team":"red"}'`)
	cmd.Flags().String("cron", "", "when: MINUTE HOUR DAY-OF-MONTH MONTH DAY-OF-WEEK, as in '30 9 * * 1-5'")
	cmd.Flags().String("time-zone", "", "time zone of --cron, as in Europe/Berlin; empty = UTC")
	cmd.Flags().String("every", "", "how often, in place of --cron: 15m, 1h30m")
	cmd.Flags().String("overlap", "", "while a turn of the schedule runs: skip (default), queue or allow")
	cmd.Flags().String("display-name", "", "name for people")
	cmd.Flags().String("description", "", "what it is for")
}

// fields returns the fields set by flags, including empty ones.
func fields(c *command.Call) (map[string]any, error) {
	body := c.Changed("agent=agent_id", "session=session_id", "cron", "time-zone", "every=interval", "overlap", "display-name", "description")
	if c.Bool("paused") {
		body["paused"] = true
	}
	return body, c.AddParams(body)
}

func verbRequest(c *command.Call, verb string) client.Request {
	return client.Request{Method: http.MethodPost, Path: path + client.Path(c.Args[0]) + ":" + verb, Body: map[string]any{}}
}

// fire prints the result of a fire; its name is the turn's id.
func fire(c *command.Call) error {
	var f sessionsv1.ScheduleFire
	raw, err := c.Do(verbRequest(c, "run"), &f)
	if err != nil {
		return err
	}
	return c.Printf(f.GetTurnId(), raw, "%s", output.Line(strings.Join([]string{enum.Name(f.GetOutcome()), f.GetTurnId(), f.GetError()}, " ")))
}
