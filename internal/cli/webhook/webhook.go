// Package webhook has the commands for webhooks and their deliveries.
package webhook

import (
	"cmp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// Noun returns "windlass webhook".
func Noun() command.Noun {
	return command.Noun{
		Name: "webhook", Plural: "webhooks", Short: "Webhooks: addresses that are notified when turns end or wait",
		List: &sessionsv1.ListWebhooksRequest{}, Get: &sessionsv1.GetWebhookRequest{}, Remove: &sessionsv1.DeleteWebhookRequest{},
		Manifest: true, More: commands,
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
			w := &sessionsv1.Webhook{}
			if len(c.Args) == 1 {
				w.Url = c.Args[0]
			}
			if err := c.Given(w, append(fields, "per-turn", "id")...); err != nil {
				return err
			}
			return send(c, &sessionsv1.CreateWebhookRequest{Webhook: w})
		}),
	}
	flags(create)
	create.Flags().Bool("per-turn", false, "make the secret that signs for the addresses which turns name (turn create --webhook-url)")
	create.Flags().String("id", "", "name of the webhook; empty = one is made")
	update := &cobra.Command{
		Use: "update ID", Short: "Change a webhook, or enable it again (--disabled=false)", Args: cobra.ExactArgs(1),
		RunE: r.Run(func(c *command.Call) error {
			w := &sessionsv1.Webhook{Id: c.Args[0]}
			changed, err := c.Changed(w, append(fields, "url")...)
			if err != nil {
				return err
			}
			if len(changed.GetPaths()) == 0 {
				return app.Usage("say what to change: --url, --event, --agent, --description or --disabled")
			}
			return send(c, &sessionsv1.UpdateWebhookRequest{Webhook: w, UpdateMask: changed})
		}),
	}
	flags(update)
	update.Flags().String("url", "", "where to post to")
	rotate := &cobra.Command{
		Use: "rotate ID", Short: "Rotate a webhook's signing secret; the old one also signs for 24 hours", Args: cobra.ExactArgs(1),
		RunE: r.Run(func(c *command.Call) error {
			return send(c, &sessionsv1.RotateWebhookRequest{WebhookId: c.Args[0], RevokeOld: c.Bool("revoke-old")})
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

// fields are what flags set.
var fields = []string{"agent=agent_id", "description", "event=events", "disabled"}

func send(c *command.Call, req proto.Message) error {
	var w sessionsv1.Webhook
	raw, err := c.Do(req, &w)
	if err != nil {
		return err
	}
	if w.GetSecret() != "" {
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
