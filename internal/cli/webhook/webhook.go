// Package webhook has the commands for webhooks and their deliveries.
package webhook

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

const path = "/v1/webhooks"

// Noun returns "windlass webhook".
func Noun() command.Noun {
	return command.Noun{
		Name: "webhook", Plural: "webhooks", Short: "Webhooks: addresses that are notified when turns end or wait", Path: path,
		Get: true, Remove: true, Manifest: true, More: commands,
		Header: []string{"ID", "URL", "EVENTS", "AGENT", "STATE", "AGE", "DESCRIPTION"},
		Read:   command.Typed((*sessionsv1.Webhook).GetId, row),
	}
}

func commands(r *command.Runner) []*cobra.Command {
	create := &cobra.Command{
		Use: "create [URL]", Short: "Notify an address when turns end or wait; shows its signing secret only this once",
		Args:    cobra.MaximumNArgs(1),
		Example: "windlass webhook create https://example.com/hooks --event turn.failed\nwindlass webhook create --per-turn",
		RunE: r.Run(func(c *command.Call) error {
			body := fields(c)
			if len(c.Args) == 1 {
				body["url"] = c.Args[0]
			}
			if c.Bool("per-turn") {
				body["per_turn"] = true
			}
			maps.Copy(body, c.Given("id"))
			return send(c, http.MethodPost, path, body)
		}),
	}
	flags(create)
	create.Flags().Bool("per-turn", false, "make the secret that signs for the addresses which turns name (turn create --webhook-url)")
	create.Flags().String("id", "", "name of the webhook; empty = one is made")
	update := &cobra.Command{
		Use: "update ID", Short: "Change a webhook, or enable it again (--disabled=false)", Args: cobra.ExactArgs(1),
		RunE: r.Run(func(c *command.Call) error {
			body := fields(c)
			if len(body) == 0 {
				return app.Usage("say what to change: --url, --event, --agent, --description or --disabled")
			}
			return send(c, http.MethodPatch, path+client.Path(c.Args[0]), body)
		}),
	}
	flags(update)
	update.Flags().String("url", "", "where to post to")
	rotate := &cobra.Command{
		Use: "rotate ID", Short: "Rotate a webhook's signing secret; the old one also signs for 24 hours", Args: cobra.ExactArgs(1),
		RunE: r.Run(func(c *command.Call) error {
			return send(c, http.MethodPost, path+client.Path(c.Args[0])+":rotate", map[string]any{"revoke_old": c.Bool("revoke-old")})
		}),
	}
	rotate.Flags().Bool("revoke-old", false, "let the old secret sign nothing more")
	return append([]*cobra.Command{create, update, rotate}, deliveryCommands(r)...)
}

func flags(cmd *cobra.Command) {
	cmd.Flags().StringSlice("event", nil,
		"tell only of this: turn.completed, turn.failed, turn.cancelled, approval.requested, input.requested, resolution.requested or "+
			"auth.required; may be repeated (default all)")
	cmd.Flags().String("agent", "", "tell only of turns of this agent")
	cmd.Flags().String("description", "", "what it is for")
	cmd.Flags().Bool("disabled", false, "send nothing to it")
}

// fields returns the fields set by flags.
func fields(c *command.Call) map[string]any {
	body := c.Changed("agent=agent_id", "description", "url")
	if c.Cmd.Flags().Changed("event") {
		events, err := c.Cmd.Flags().GetStringSlice("event")
		if err == nil { // it is a string slice
			body["events"] = events
		}
	}
	if c.Cmd.Flags().Changed("disabled") {
		body["disabled"] = c.Bool("disabled")
	}
	return body
}

func send(c *command.Call, method, path string, body map[string]any) error {
	raw, err := c.Do(client.Request{Method: method, Path: path, Body: body}, nil)
	if err != nil {
		return err
	}
	var shown struct {
		Secret string `json:"secret"`
	}
	if json.Unmarshal(raw, &shown) == nil && shown.Secret != "" {
		c.Note("store the secret: it cannot be shown again")
	}
	return Noun().Print(c, raw)
}

func row(m *sessionsv1.Webhook, now time.Time) []string {
	address := m.GetUrl()
	if m.GetPerTurn() {
		address = "(of each turn)"
	}
	return []string{
		m.GetId(), output.Cell(address), cmp.Or(strings.Join(m.GetEvents(), ","), "all"), cmp.Or(m.GetAgentId(), "all"),
		output.Cell(stateOf(m)), output.Ago(now, m.GetCreateTime().AsTime()), output.Cell(m.GetDescription()),
	}
}

func stateOf(m *sessionsv1.Webhook) string {
	switch {
	case m.GetDisabled() && m.GetLastError() != "":
		return "disabled: " + m.GetLastError()
	case m.GetDisabled():
		return "disabled"
	case m.GetLastError() != "":
		return "failing: " + m.GetLastError()
	}
	return "ok"
}
