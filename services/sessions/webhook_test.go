package sessions_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/fault"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func TestWebhooksAreChecked(t *testing.T) {
	o := hooked()
	o.profile = egress.Public
	k := newKit(t, o)
	type hook = sessionsv1.Webhook
	for name, row := range map[string]struct {
		hook *hook
		want []string
	}{
		"no address":           {&hook{}, []string{"webhook.url"}},
		"no scheme":            {&hook{Url: "example.com/x"}, []string{"webhook.url"}},
		"another scheme":       {&hook{Url: "ftp://example.com/x"}, []string{"webhook.url"}},
		"no host":              {&hook{Url: "https:///x"}, []string{"webhook.url"}},
		"a password":           {&hook{Url: "https://a:b@example.com/"}, []string{"webhook.url"}},
		"a fragment":           {&hook{Url: "https://example.com/#x"}, []string{"webhook.url"}},
		"a space":              {&hook{Url: "https://example.com/a b"}, []string{"webhook.url"}},
		"this machine":         {&hook{Url: "http://localhost:8080/"}, []string{"webhook.url"}},
		"a private address":    {&hook{Url: "http://10.1.2.3/x"}, []string{"webhook.url"}},
		"a metadata address":   {&hook{Url: "http://169.254.169.254/latest"}, []string{"webhook.url"}},
		"an unknown event":     {&hook{Url: "https://example.com/", Events: []string{"turn.queued"}}, []string{"webhook.events[0]"}},
		"the same event twice": {&hook{Url: "https://example.com/", Events: []string{"turn.failed", "turn.failed"}}, []string{"webhook.events"}},
		"an address too many":  {&hook{PerTurn: true, Url: "https://example.com/", AgentId: "x"}, []string{"webhook.url", "webhook.agent_id"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := k.webhooks().CreateWebhook(t.Context(), &sessionsv1.CreateWebhookRequest{Webhook: row.hook})
			wantFault(t, err, "invalid_argument", row.want...)
			if name == "a private address" && !strings.Contains(err.Error(), "egress.allow") {
				t.Errorf("does not say what to change: %v", err)
			}
		})
	}
	_, err := newKit(t, options{}).webhooks().CreateWebhook(t.Context(),
		&sessionsv1.CreateWebhookRequest{Webhook: &hook{Url: "https://example.com/"}})
	wantFault(t, err, "failed_precondition")
	if hint := fault.From(err).Todo; !strings.Contains(hint, "sessions.seal_key") {
		t.Errorf("without a key: %v", err)
	}
}

func TestAWebhookMayBeNamed(t *testing.T) {
	k := newKit(t, hooked())
	create := func(id string) (*sessionsv1.Webhook, error) {
		return k.webhooks().CreateWebhook(t.Context(),
			&sessionsv1.CreateWebhookRequest{Webhook: &sessionsv1.Webhook{Id: id, Url: "https://example.com/"}})
	}
	first, err := create("pager")
	must(t, err)
	_, err = create("pager")
	wantFault(t, err, "already_exists")
	_, err = create("Not a name")
	wantFault(t, err, "invalid_argument", "webhook.id")
	_, err = k.webhooks().DeleteWebhook(t.Context(), &sessionsv1.DeleteWebhookRequest{WebhookId: "pager"})
	must(t, err)
	again, err := create("pager")
	must(t, err)
	if first.GetId() != "pager" || again.GetSecret() == "" || again.GetSecret() == first.GetSecret() {
		t.Errorf("made %s, then %s", first.GetId(), again.GetId())
	}
}

func TestAWebhookIsChanged(t *testing.T) {
	o := hooked()
	o.cfg.Webhooks.MaxWebhooks = 2
	k := newKit(t, o)
	w := k.webhook(&sessionsv1.Webhook{Url: "https://example.com/a", Events: []string{"turn.failed"}, Description: "mine"})
	if !strings.HasPrefix(w.GetSecret(), "whsec_") || w.GetCreatedBy() == "" || w.GetLastError() != "" {
		t.Errorf("made %v", w)
	}
	change := func(to *sessionsv1.Webhook, paths ...string) (*sessionsv1.Webhook, error) {
		to.Id = w.GetId()
		req := &sessionsv1.UpdateWebhookRequest{Webhook: to}
		if len(paths) > 0 {
			req.UpdateMask = &fieldmaskpb.FieldMask{Paths: paths}
		}
		return k.webhooks().UpdateWebhook(t.Context(), req)
	}
	now, err := change(&sessionsv1.Webhook{Url: "https://example.com/b", Disabled: true})
	must(t, err)
	if now.GetUrl() != "https://example.com/b" || !now.GetDisabled() || now.GetDescription() != "mine" || now.GetSecret() != "" {
		t.Errorf("changed to %v", now)
	}
	now, err = change(&sessionsv1.Webhook{}, "disabled", "events")
	must(t, err)
	if now.GetDisabled() || len(now.GetEvents()) > 0 || now.GetUrl() == "" {
		t.Errorf("cleared to %v", now)
	}
	_, err = change(&sessionsv1.Webhook{}, "url")
	wantFault(t, err, "invalid_argument", "webhook.url")
	_, err = change(&sessionsv1.Webhook{PerTurn: true})
	wantFault(t, err, "invalid_argument", "webhook.per_turn")
	_, err = change(&sessionsv1.Webhook{}, "nothing")
	wantFault(t, err, "invalid_argument", "update_mask")

	k.webhook(&sessionsv1.Webhook{PerTurn: true})
	_, err = k.webhooks().CreateWebhook(t.Context(), &sessionsv1.CreateWebhookRequest{Webhook: &sessionsv1.Webhook{PerTurn: true}})
	wantFault(t, err, "already_exists")
	_, err = k.webhooks().CreateWebhook(t.Context(),
		&sessionsv1.CreateWebhookRequest{Webhook: &sessionsv1.Webhook{Url: "https://example.com/"}})
	wantFault(t, err, "limit_reached")

	page, err := k.webhooks().ListWebhooks(t.Context(), &sessionsv1.ListWebhooksRequest{PageSize: 1})
	must(t, err)
	rest, err := k.webhooks().ListWebhooks(t.Context(), &sessionsv1.ListWebhooksRequest{PageSize: 1, PageToken: page.GetNextPageToken()})
	must(t, err)
	found := map[string]bool{} // in the order of ids, of which those of one millisecond have none
	for _, one := range append(page.GetWebhooks(), rest.GetWebhooks()...) {
		found[one.GetId()] = one.GetSecret() == ""
	}
	if len(page.GetWebhooks()) != 1 || page.GetNextPageToken() == "" || rest.GetNextPageToken() != "" || len(found) != 2 || !found[w.GetId()] {
		t.Errorf("pages %v, %v", page, rest)
	}
	_, err = k.webhooks().DeleteWebhook(t.Context(), &sessionsv1.DeleteWebhookRequest{WebhookId: w.GetId()})
	must(t, err)
	for name, call := range map[string]func(id string) error{
		"get": func(id string) error {
			_, err := k.webhooks().GetWebhook(t.Context(), &sessionsv1.GetWebhookRequest{WebhookId: id})
			return err
		},
		"delete": func(id string) error {
			_, err := k.webhooks().DeleteWebhook(t.Context(), &sessionsv1.DeleteWebhookRequest{WebhookId: id})
			return err
		},
		"rotate": func(id string) error {
			_, err := k.webhooks().RotateWebhook(t.Context(), &sessionsv1.RotateWebhookRequest{WebhookId: id})
			return err
		},
		"update": func(string) error { _, err := change(&sessionsv1.Webhook{Description: "x"}); return err },
		"deliveries": func(id string) error {
			_, err := k.webhooks().ListWebhookDeliveries(t.Context(), &sessionsv1.ListWebhookDeliveriesRequest{WebhookId: id})
			return err
		},
		"redeliver": func(id string) error {
			_, err := k.webhooks().RedeliverWebhook(t.Context(), &sessionsv1.RedeliverWebhookRequest{WebhookId: id, DeliveryId: "whd_x"})
			return err
		},
	} {
		if err := call(w.GetId()); err == nil || !strings.Contains(err.Error(), "does not exist") {
			t.Errorf("%s of one that was deleted: %v", name, err)
		}
	}
}
