package cli

import (
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/show"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

const webhooksPath = "/v1/webhooks"

func webhooks() noun {
	return noun{
		name: "webhook", plural: "webhooks", short: "Webhooks: addresses that are notified when turns end or wait", path: webhooksPath, get: true,
		manifest: true,
		remove:   true,
		more:     webhookCommands,
		header:   []string{"ID", "URL", "EVENTS", "AGENT", "STATE", "AGE", "DESCRIPTION"},
		read:     typed((*sessionsv1.Webhook).GetId, show.Webhook),
	}
}

// deliveries are listed per webhook only.
func deliveries() noun {
	return noun{
		name: "delivery", plural: "deliveries",
		header: []string{"ID", "TYPE", "TURN", "STATUS", "ATTEMPTS", "CODE", "NEXT", "AGE", "ERROR"},
		read:   typed((*sessionsv1.WebhookDelivery).GetId, show.Delivery),
	}
}

func webhookCommands(a *app.App) []*cobra.Command {
	create := &cobra.Command{
		Use: "create [URL]", Short: "Notify an address when turns end or wait; shows its signing secret only this once",
		Args:    cobra.MaximumNArgs(1),
		Example: "windlass webhook create https://example.com/hooks --event turn.failed\nwindlass webhook create --per-turn",
		RunE: run(a, func(c *call) error {
			body := webhookBody(c)
			if len(c.args) == 1 {
				body["url"] = c.args[0]
			}
			if flag(c.cmd, "per-turn") == "true" {
				body["per_turn"] = true
			}
			if id := flag(c.cmd, "id"); id != "" {
				body["id"] = id
			}
			return sendWebhook(c, http.MethodPost, webhooksPath, body)
		}),
	}
	webhookFlags(create)
	create.Flags().Bool("per-turn", false, "make the secret that signs for the addresses which turns name (turn create --webhook-url)")
	create.Flags().String("id", "", "name of the webhook; empty = one is made")
	update := &cobra.Command{
		Use: "update ID", Short: "Change a webhook, or enable it again (--disabled=false)", Args: cobra.ExactArgs(1), RunE: run(a, updateWebhook),
	}
	webhookFlags(update)
	update.Flags().String("url", "", "where to post to")
	rotate := &cobra.Command{
		Use: "rotate ID", Short: "Rotate a webhook's signing secret; the old one also signs for 24 hours", Args: cobra.ExactArgs(1),
		RunE: run(a, func(c *call) error {
			return sendWebhook(c, http.MethodPost, webhooksPath+client.Path(c.args[0])+":rotate", map[string]any{
				"revoke_old": flag(c.cmd, "revoke-old") == "true",
			})
		}),
	}
	rotate.Flags().Bool("revoke-old", false, "let the old secret sign nothing more")
	list := &cobra.Command{
		Use: "deliveries ID", Short: "List the past and pending deliveries of a webhook", Args: cobra.ExactArgs(1),
		RunE: run(a, func(c *call) error {
			return deliveries().listAt(c, webhooksPath+client.Path(c.args[0], "deliveries"), "deliveries", url.Values{}, defaultLimit)
		}),
	}
	redeliver := &cobra.Command{
		Use: "redeliver ID DELIVERY", Short: "Send a delivery again, with the same webhook-id", Args: cobra.ExactArgs(2),
		RunE: run(a, func(c *call) error {
			raw, err := c.client.Do(c.ctx, client.Request{
				Method: http.MethodPost, Path: webhooksPath + client.Path(c.args[0], "deliveries", c.args[1]) + ":redeliver", Body: map[string]any{},
			}, nil)
			if err != nil {
				return err
			}
			return deliveries().printOne(c, raw)
		}),
	}
	return []*cobra.Command{create, update, rotate, list, redeliver}
}

func webhookFlags(cmd *cobra.Command) {
	cmd.Flags().StringSlice("event", nil,
		"tell only of this: turn.completed, turn.failed, turn.cancelled, approval.requested, input.requested, resolution.requested or "+
			"auth.required; may be repeated (default all)")
	cmd.Flags().String("agent", "", "tell only of turns of this agent")
	cmd.Flags().String("description", "", "what it is for")
	cmd.Flags().Bool("disabled", false, "send nothing to it")
}

// webhookBody returns the fields set by flags.
func webhookBody(c *call) map[string]any {
	body := map[string]any{}
	for name, field := range map[string]string{"agent": "agent_id", "description": "description", "url": "url"} {
		if c.cmd.Flags().Changed(name) {
			body[field] = flag(c.cmd, name)
		}
	}
	if c.cmd.Flags().Changed("event") {
		events, err := c.cmd.Flags().GetStringSlice("event")
		if err == nil { // it is a string slice
			body["events"] = events
		}
	}
	if c.cmd.Flags().Changed("disabled") {
		body["disabled"] = flag(c.cmd, "disabled") == "true"
	}
	return body
}

func updateWebhook(c *call) error {
	body := webhookBody(c)
	if len(body) == 0 {
		return app.Usage("say what to change: --url, --event, --agent, --description or --disabled")
	}
	return sendWebhook(c, http.MethodPatch, webhooksPath+client.Path(c.args[0]), body)
}

func sendWebhook(c *call, method, path string, body map[string]any) error {
	raw, err := c.client.Do(c.ctx, client.Request{Method: method, Path: path, Body: body}, nil)
	if err != nil {
		return err
	}
	var shown struct {
		Secret string `json:"secret"`
	}
	if json.Unmarshal(raw, &shown) == nil && shown.Secret != "" {
		c.note("store the secret: it cannot be shown again")
	}
	return webhooks().printOne(c, raw)
}
