package convert

import (
	"context"

	"github.com/windlass-dev/windlass/libs/authn"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/store/webhookdb"
)

// WebhookFromProto converts a webhook that the caller is about to create.
func WebhookFromProto(ctx context.Context, want *sessionsv1.Webhook) webhookdb.Webhook {
	w := webhookdb.Webhook{
		Tenant: authn.Tenant(ctx), ID: want.GetId(), PerTurn: want.GetPerTurn(), CreatedBy: authn.From(ctx).GetSubject(),
	}
	SetWebhook(&w, want)
	return w
}

// SetWebhook copies the fields that its owner may change.
func SetWebhook(w *webhookdb.Webhook, want *sessionsv1.Webhook) {
	w.URL, w.Events, w.AgentID = want.GetUrl(), want.GetEvents(), want.GetAgentId()
	w.Description, w.Disabled = want.GetDescription(), want.GetDisabled()
}
