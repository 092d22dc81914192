package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/totalsdb"
	"github.com/windlass-dev/windlass/services/sessions/store/webhookdb"
)

func addWebhook(t *testing.T, s *store.Store, w webhookdb.Webhook) {
	t.Helper()
	w.Tenant, w.Secret = tenant, []byte("sealed")
	write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.AddWebhook(ctx, w) })
}

func addDelivery(t *testing.T, s *store.Store, id, webhook, session string, next int64) {
	t.Helper()
	d := webhookdb.Delivery{
		Tenant: tenant, ID: id, WebhookID: webhook, SessionID: session, TurnID: "trn_1", Body: []byte("body of " + id),
		NextAttempt: sqldb.Time(next), CreateTime: sqldb.Time(1),
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.AddDelivery(ctx, d) })
}

// claimDeliveries returns what is claimed at a time, as ID(attempts).
func claimDeliveries(t *testing.T, s *store.Store, nowUs int64, limit int, excluded ...webhookdb.Receiver) (out []string) {
	t.Helper()
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		got, err := tx.ClaimDeliveries(ctx, sqldb.Time(nowUs), sqldb.Time(nowUs+10), limit, webhookdb.ReceiverFilter{Excluded: excluded})
		out = nil
		for _, d := range got {
			if string(d.Body) != "body of "+d.ID || !d.Sending {
				t.Errorf("claimed %+v", d)
			}
			out = append(out, fmt.Sprintf("%s(%d)", d.ID, d.Attempts))
		}
		return err
	})
	return out
}

// wantPending checks how many things are to be done, and since when the oldest waits.
func wantPending(t *testing.T, read func(context.Context) (totalsdb.Pending, error), count, oldest int64) {
	t.Helper()
	if got, err := read(t.Context()); err != nil || got != (totalsdb.Pending{Count: count, Oldest: oldest}) {
		t.Errorf("pending are %+v, %v; want %d, the oldest since %d", got, err, count, oldest)
	}
}

func deliveries(t *testing.T, s *store.Store) {
	addSession(t, s, "ses_1", "trn_1")
	addWebhook(t, s, webhookdb.Webhook{ID: "whk_1", URL: "http://x"})
	addWebhook(t, s, webhookdb.Webhook{ID: "whk_2", URL: "http://y"})
	addDelivery(t, s, "whd_a", "whk_1", "ses_1", 20)
	addDelivery(t, s, "whd_b", "whk_1", "ses_2", 10)
	addDelivery(t, s, "whd_c", "whk_2", "ses_2", 15)
	addDelivery(t, s, "whd_d", "whk_2", "ses_2", 99)
	wantPending(t, s.ToDeliver, 4, 10)
	for _, row := range []struct {
		at   int64
		not  []webhookdb.Receiver
		want string
	}{
		{at: 5, want: "[]"},
		{at: 25, not: []webhookdb.Receiver{{Tenant: tenant, WebhookID: "whk_1"}, {Tenant: "other", WebhookID: "whk_2"}}, want: "[whd_c(1)]"},
		{at: 30, want: "[whd_b(1) whd_a(1)]"},
		{at: 34, want: "[]"},
		{at: 35, want: "[whd_c(2)]"}, // its claim expired
	} {
		if got := fmt.Sprint(claimDeliveries(t, s, row.at, 9, row.not...)); got != row.want {
			t.Errorf("at %d: %s, want %s", row.at, got, row.want)
		}
	}
	wantPending(t, s.ToDeliver, 4, 40) // the claims of a and b end then
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		d, err := tx.LockDelivery(ctx, tenant, "whk_1", "whd_b")
		if err != nil {
			return err
		}
		d.Status, d.Sending, d.EndTime, d.ResponseCode, d.Error = webhookdb.DeliveryDelivered, false, sqldb.Time(50), 200, "none"
		return tx.SaveDelivery(ctx, d)
	})
	rows, err := s.Deliveries(t.Context(), tenant, "whk_1", "", 9)
	must(t, err)
	if len(rows) != 2 || rows[0].ID != "whd_b" || rows[0].ResponseCode != 200 || rows[0].Error != "none" || rows[0].Sending ||
		!rows[1].Sending {
		t.Errorf("deliveries %+v", rows)
	}
	if rows, err = s.Deliveries(t.Context(), tenant, "whk_1", "whd_b", 9); err != nil || len(rows) != 1 || rows[0].ID != "whd_a" {
		t.Errorf("next page %+v, %v", rows, err)
	}
	must(t, s.RemoveDeliveries(t.Context(), sqldb.Time(51), 9))
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.LockDelivery(ctx, tenant, "whk_1", "whd_b"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("forgotten: %v", err)
		}
		return errors.Join(tx.DeleteSession(ctx, tenant, "ses_1"), tx.DeleteWebhook(ctx, tenant, "whk_2"))
	})
	for _, hook := range []string{"whk_1", "whk_2"} {
		if rows, err := s.Deliveries(t.Context(), tenant, hook, "", 9); err != nil || len(rows) != 0 {
			t.Errorf("deliveries left of %s: %+v, %v", hook, rows, err)
		}
	}
	if due, err := s.HasDueDeliveries(t.Context(), sqldb.Time(1000)); err != nil || due {
		t.Errorf("due: %v, %v", due, err)
	}
}

func toldEnds(t *testing.T, s *store.Store) {
	end := func(turn string) (told bool, own string) {
		t.Helper()
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			row, err := tx.Turn(ctx, tenant, turn)
			if err != nil {
				return err
			}
			row.EndTime, row.Usage, row.End = sqldb.Time(7), &turnv1.Usage{ToolCalls: 1}, &turnv1.TurnEnded{Output: "e"}
			if told, err = tx.EndTurn(ctx, row); err != nil {
				return err
			}
			if _, own, err = tx.TurnWebhook(ctx, tenant, turn); err != nil {
				return err
			}
			if err := tx.DeleteTurnWebhook(ctx, tenant, turn); err != nil {
				return err
			}
			if _, again, err := tx.TurnWebhook(ctx, tenant, turn); err != nil || again != "" {
				t.Errorf("the address after it was dropped: %q, %v", again, err)
			}
			return nil
		})
		return told, own
	}
	addSession(t, s, "ses_1", "trn_1", "trn_2", "trn_3", "trn_4", "trn_5")
	if told, _ := end("trn_1"); told {
		t.Error("told of without any webhook")
	}
	if row, err := s.Turn(t.Context(), tenant, "trn_1"); err != nil || sqldb.Micros(row.EndTime) != 7 || row.End.GetOutput() != "e" ||
		row.Usage.GetToolCalls() != 1 {
		t.Errorf("ended turn %+v, %v", row, err)
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.AddTurnWebhook(ctx, tenant, "trn_2", "http://own"), tx.AddTurnWebhook(ctx, tenant, "trn_3", "http://own"))
	})
	if told, own := end("trn_2"); !told || own != "" {
		t.Errorf("an address without a signer: %v, %q", told, own)
	}
	addWebhook(t, s, webhookdb.Webhook{ID: "whk_1", PerTurn: true})
	if told, own := end("trn_3"); !told || own != "http://own" {
		t.Errorf("an address: %v, %q", told, own)
	}
	addWebhook(t, s, webhookdb.Webhook{ID: "whk_2", URL: "http://x", Disabled: true})
	if told, _ := end("trn_4"); told {
		t.Error("told of with nobody to tell")
	}
	addWebhook(t, s, webhookdb.Webhook{ID: "whk_3", URL: "http://x", AgentID: "somebody else"})
	if told, _ := end("trn_5"); !told {
		t.Error("not told of")
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		for agent, want := range map[string]int{"a": 0, "somebody else": 1} {
			if got, err := tx.Subscribers(ctx, tenant, agent); err != nil || len(got) != want {
				t.Errorf("told of %s: %+v, %v", agent, got, err)
			}
		}
		n, perTurn, err := tx.CountWebhooks(ctx, tenant)
		if n != 3 || perTurn != 1 {
			t.Errorf("%d webhooks, %d for turns", n, perTurn)
		}
		return err
	})
	err := s.Write(t.Context(), func(tx *store.Tx) error {
		return tx.AddWebhook(t.Context(), webhookdb.Webhook{Tenant: tenant, ID: "whk_4", PerTurn: true})
	})
	if !sqldb.IsUnique(err) {
		t.Errorf("a second one for turns: %v", err)
	}
}
