package sessions

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/seal"
	"github.com/windlass-dev/windlass/services/sessions/receivers"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

const (
	// maxHookPause bounds the pause between two attempts of one delivery.
	maxHookPause = time.Hour
	// takenLonger is how much longer than an attempt may last a delivery belongs to who took it.
	takenLonger = 5 * time.Second
	// perReceiver bounds the deliveries under way to one receiver, so that a slow one does not hold up the others.
	perReceiver = 4
)

// hooks sends what webhooks are to be told. The rows in the database are the truth; who takes one has it alone for a while, so that several
// processes work side by side, and what a process that dies was sending is sent by another.
type hooks struct {
	store  *store.Store
	client *http.Client
	box    *seal.Box // nil without a key
	log    *slog.Logger
	cfg    WebhooksConfig
	every  time.Duration
	wake   chan struct{}
	shares *receivers.Shares
	flying sync.WaitGroup
}

func newHooks(s *store.Store, e *egress.Egress, log *slog.Logger, cfg Config) (*hooks, error) {
	box, err := sealer(cfg)
	if err != nil {
		return nil, err
	}
	return &hooks{
		store: s, client: e.Client(egress.Options{Timeout: cfg.Webhooks.Timeout}), box: box, log: log,
		cfg: cfg.Webhooks, every: cfg.SweepInterval, wake: make(chan struct{}, 1),
		shares: receivers.New(cfg.Webhooks.MaxSending, perReceiver, cfg.Webhooks.FirstRetry),
	}, nil
}

// kick has deliveries looked for soon.
func (h *hooks) kick() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// run sends until ctx ends, then waits for what is in flight.
func (h *hooks) run(ctx context.Context) {
	tick := time.NewTicker(h.every)
	defer tick.Stop()
	for ctx.Err() == nil {
		if err := h.drain(ctx); err != nil && ctx.Err() == nil {
			h.log.ErrorContext(ctx, "deliveries of webhooks cannot be read", "error", err)
		}
		select {
		case <-h.wake:
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	h.flying.Wait()
}

// drain sends what is due, as far as slots are free. A slot that becomes free wakes run.
func (h *hooks) drain(ctx context.Context) error {
	for {
		choice, ok := h.shares.Next()
		if !ok {
			return nil
		}
		now := h.store.NowUs()
		if some, err := h.store.HasDueDeliveries(ctx, now); err != nil || !some {
			return err
		}
		var taken []store.Delivery
		err := h.store.Write(ctx, func(tx *store.Tx) (err error) { // one by one: each changes who may be sent the next
			taken, err = tx.TakeDeliveries(ctx, now, now+(h.cfg.Timeout+takenLonger).Microseconds(), 1, choice)
			return err
		})
		if err != nil || len(taken) == 0 {
			return err
		}
		h.launch(ctx, taken[0])
	}
}

// launch sends one delivery in the background.
func (h *hooks) launch(ctx context.Context, d store.Delivery) {
	h.shares.Begin(d.Receiver())
	h.flying.Go(func() {
		got := h.deliver(ctx, d)
		h.shares.End(d.Receiver(), !got.aside && !got.interrupted, got.code != 0)
		h.kick()
	})
}

// deliver makes one attempt, notes what came of it and returns that.
func (h *hooks) deliver(ctx context.Context, d store.Delivery) answer {
	w, err := h.store.Webhook(ctx, d.Tenant, d.WebhookID)
	var got answer
	switch {
	case errors.Is(err, store.ErrNotFound):
		got = answer{problem: "the webhook was deleted", final: true, aside: true}
	case err != nil:
		h.log.ErrorContext(ctx, "webhook cannot be read", "webhook_id", d.WebhookID, "error", err)
		return answer{interrupted: true} // it is taken again when its time is over
	case w.Disabled:
		got = answer{problem: "the webhook is disabled", final: true, aside: true}
	default:
		got = h.post(ctx, w, d)
	}
	after := context.WithoutCancel(ctx) // what came of it must be noted, also on the way out
	if ctx.Err() != nil && got.problem != "" {
		got = answer{interrupted: true}
	}
	if err := h.store.Write(after, func(tx *store.Tx) error { return h.note(after, tx, w, d, got) }); err != nil { // it will be sent once more
		h.log.ErrorContext(ctx, "delivery of a webhook cannot be noted", "webhook_id", d.WebhookID, "delivery_id", d.ID, "error", err)
	}
	return got
}

// note writes what came of an attempt, unless somebody else took the delivery since.
func (h *hooks) note(ctx context.Context, tx *store.Tx, w store.Webhook, taken store.Delivery, got answer) error {
	if got.gone || !got.aside && !got.interrupted && w.ID != "" && w.LastError != got.problem {
		if err := h.noteHook(ctx, tx, w, taken, got); err != nil {
			return err
		}
	}
	d, err := tx.LockDelivery(ctx, taken.Tenant, taken.WebhookID, taken.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil // deleted with its webhook or session
	}
	if err != nil || d.Attempts != taken.Attempts || d.Status != store.DeliveryPending || !d.Sending {
		return err
	}
	now := h.store.NowUs()
	d.Sending, d.NextUs = false, now
	if got.interrupted {
		return tx.SaveDelivery(ctx, d)
	}
	d.ResponseCode, d.Error = got.code, got.problem
	next := now + h.pause(d.Attempts).Microseconds()
	if asked := now + got.after.Microseconds(); asked > next {
		next = min(asked, max(d.GiveUpUs, next)) // if it is to be later than we try, then once more at the very end
	}
	d.NextUs = next
	switch {
	case got.problem == "":
		d.Status, d.EndUs = store.DeliveryDelivered, now
	case got.final || d.NextUs > d.GiveUpUs:
		d.Status, d.EndUs = store.DeliveryFailed, now
	}
	return tx.SaveDelivery(ctx, d)
}

// noteHook writes the last error of a webhook, and disables one whose own address is gone.
func (h *hooks) noteHook(ctx context.Context, tx *store.Tx, seen store.Webhook, d store.Delivery, got answer) error {
	w, err := tx.LockWebhook(ctx, seen.Tenant, seen.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil || w.URL != seen.URL { // what another address answered says nothing
		return err
	}
	w.LastError = got.problem
	if got.gone && d.URL == "" && !w.Disabled {
		w.Disabled, w.UpdateUs = true, h.store.NowUs()
	}
	return tx.SaveWebhook(ctx, w)
}

// pause is how long to wait after so many attempts, a fifth more or less at random.
func (h *hooks) pause(attempts int) time.Duration {
	d := h.cfg.FirstRetry
	for range min(attempts-1, 20) {
		d = min(3*d, maxHookPause)
	}
	return d*4/5 + rand.N(d*2/5+1)
}
