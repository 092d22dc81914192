package cli

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/gateway/codec"
	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/enum"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

const schedulesPath = "/v1/schedules"

func schedules() noun {
	return noun{
		name: "schedule", plural: "schedules", short: "Schedules: turns that begin by the clock", path: schedulesPath, get: true, remove: true,
		manifest: true,
		more:     scheduleCommands,
		header:   []string{"ID", "WHEN", "WHERE", "STATE", "NEXT", "LAST TURN", "INPUT"},
		read: typed((*sessionsv1.Schedule).GetId, func(m *sessionsv1.Schedule, now time.Time) []string {
			next := ""
			if len(m.GetNext()) > 0 {
				next = "in " + output.Ago(m.GetNext()[0].AsTime(), now)
			}
			return []string{
				m.GetId(), scheduleWhen(m), strings.TrimSpace(m.GetAgentId() + " " + m.GetSessionId()), output.Cell(scheduleState(m)), next,
				m.GetLastTurnId(), output.Cell(m.GetInput()),
			}
		}),
	}
}

func scheduleWhen(m *sessionsv1.Schedule) string {
	if m.GetInterval() != "" {
		return "every " + m.GetInterval()
	}
	return m.GetCron() + " " + m.GetTimeZone()
}

func scheduleState(m *sessionsv1.Schedule) string {
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

func scheduleCommands(a *app.App) []*cobra.Command {
	create := &cobra.Command{
		Use: "create INPUT", Short: "Start a turn with this input on a schedule", Args: cobra.ExactArgs(1),
		Example: "windlass schedule create --id morning --agent assistant --cron '30 9 * * 1-5' --time-zone Europe/Berlin 'What is new?'\n" +
			"windlass schedule create --session ses_… --every 15m 'Look again.'",
		RunE: run(a, func(c *call) error {
			body, err := scheduleBody(c)
			if err != nil {
				return err
			}
			body["input"] = c.args[0]
			if id := flag(c.cmd, "id"); id != "" {
				body["id"] = id
			}
			return sendSchedule(c, http.MethodPost, schedulesPath, body)
		}),
	}
	create.Flags().String("id", "", "name of the schedule; empty = one is made")
	create.Flags().Bool("paused", false, "do not fire before it is resumed")
	scheduleFlags(create)
	update := &cobra.Command{
		Use: "update ID", Short: "Change a schedule", Args: cobra.ExactArgs(1),
		RunE: run(a, func(c *call) error {
			body, err := scheduleBody(c)
			if err != nil {
				return err
			}
			if c.cmd.Flags().Changed("input") {
				body["input"] = flag(c.cmd, "input")
			}
			if len(body) == 0 {
				return app.Usage("say what to change, for example --every 15m")
			}
			return sendSchedule(c, http.MethodPatch, schedulesPath+client.Path(c.args[0]), body)
		}),
	}
	update.Flags().String("input", "", "what the agent is asked each time")
	scheduleFlags(update)
	verb := func(use, short string) *cobra.Command {
		return &cobra.Command{
			Use: use + " ID", Short: short, Args: cobra.ExactArgs(1),
			RunE: run(a, func(c *call) error {
				return sendSchedule(c, http.MethodPost, schedulesPath+client.Path(c.args[0])+":"+use, map[string]any{})
			}),
		}
	}
	now := &cobra.Command{
		Use: "run ID", Short: "Fire a schedule now, in addition to its times", Args: cobra.ExactArgs(1), RunE: run(a, runSchedule),
	}
	return []*cobra.Command{
		create, update, verb("pause", "Keep a schedule from firing"), verb("resume", "Let a paused schedule fire again"),
		now,
	}
}

func scheduleFlags(cmd *cobra.Command) {
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

// scheduleBody returns the fields set by flags, including empty ones.
func scheduleBody(c *call) (map[string]any, error) {
	body := map[string]any{}
	for name, field := range map[string]string{
		"agent": "agent_id", "session": "session_id", "cron": "cron", "time-zone": "time_zone", "every": "interval", "overlap": "overlap",
		"display-name": "display_name", "description": "description",
	} {
		if c.cmd.Flags().Changed(name) {
			body[field] = flag(c.cmd, name)
		}
	}
	if flag(c.cmd, "paused") == "true" {
		body["paused"] = true
	}
	return body, addParams(c, body)
}

func sendSchedule(c *call, method, path string, body map[string]any) error {
	raw, err := c.client.Do(c.ctx, client.Request{Method: method, Path: path, Body: body}, nil)
	if err != nil {
		return err
	}
	return schedules().printOne(c, raw)
}

// runSchedule prints the result of the fire; its name is the turn's id.
func runSchedule(c *call) error {
	raw, err := c.client.Do(c.ctx, client.Request{
		Method: http.MethodPost, Path: schedulesPath + client.Path(c.args[0]) + ":run", Body: map[string]any{},
	}, nil)
	if err != nil {
		return err
	}
	f := &sessionsv1.ScheduleFire{}
	if err := codec.UnmarshalKnown(raw, f); err != nil {
		return fmt.Errorf("the answer is not what a Windlass server says: %w", err)
	}
	return c.print(f.GetTurnId(), raw, func(w io.Writer) error {
		text := strings.Join([]string{enum.Name(f.GetOutcome()), f.GetTurnId(), f.GetError()}, " ")
		_, err := fmt.Fprintln(w, output.Line(strings.Join(strings.Fields(text), " ")))
		return err
	})
}
