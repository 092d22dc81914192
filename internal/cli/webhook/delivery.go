package webhook

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/enum"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func deliveryCommands(r *command.Runner) []*cobra.Command {
	list := &cobra.Command{
		Use: "deliveries ID", Short: "List the past and pending deliveries of a webhook", Args: cobra.ExactArgs(1),
		RunE: r.Run(func(c *command.Call) error {
			return deliveries().ListAt(c, &sessionsv1.ListWebhookDeliveriesRequest{WebhookId: c.Args[0]}, nil, command.DefaultLimit)
		}),
	}
	redeliver := &cobra.Command{
		Use: "redeliver ID DELIVERY", Short: "Send a delivery again, with the same webhook-id", Args: cobra.ExactArgs(2),
		RunE: r.Run(func(c *command.Call) error {
			return deliveries().Send(c, &sessionsv1.RedeliverWebhookRequest{WebhookId: c.Args[0], DeliveryId: c.Args[1]})
		}),
	}
	return []*cobra.Command{list, redeliver}
}

// deliveries are listed per webhook only.
func deliveries() command.Noun {
	return command.Noun{
		Name: "delivery", Plural: "deliveries",
		Header: []string{"ID", "TYPE", "TURN", "STATUS", "ATTEMPTS", "CODE", "NEXT", "AGE", "ERROR"},
		Read: command.Typed((*sessionsv1.WebhookDelivery).GetId, func(m *sessionsv1.WebhookDelivery, now time.Time) []string {
			next, code := "", ""
			if m.GetNextAttemptTime() != nil {
				next = "in " + output.Ago(m.GetNextAttemptTime().AsTime(), now)
			}
			if m.GetResponseCode() > 0 {
				code = fmt.Sprint(m.GetResponseCode())
			}
			return []string{
				m.GetId(), m.GetType(), m.GetTurnId(), enum.Name(m.GetStatus()), fmt.Sprint(m.GetAttempts()), code, next,
				output.Ago(now, m.GetCreateTime().AsTime()), output.Cell(m.GetError()),
			}
		}),
	}
}
