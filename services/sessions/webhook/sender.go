package webhook

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/webhookdb"
	"github.com/windlass-dev/windlass/services/sessions/webhook/fairness"
)

const (
	// maxBackoff bounds the backoff between two attempts of one delivery.
	maxBackoff = time.Hour
	// claimSlack is how much longer than the timeout of an attempt a delivery stays claimed.
	claimSlack = 5 * time.Second
	// maxPerReceiver bounds the attempts in flight to one receiver, so that a slow one does not hold up the others.
	maxPerReceiver = 4
)

// sender sends due deliveries. The rows in the database are the truth: a replica claims one for the time of an attempt, so that
// replicas share the work, and what a replica was sending when it stopped is sent by another.
type sender struct {
	cfg      Config
	store    *store.Store
	client   *http.Client
	keys     keyring
	log      *slog.Logger
	interval time.Duration
	wake     chan struct{}
	slots    *fairness.Slots
	inFlight sync.WaitGroup
}

func newSender(cfg Config, deps Deps, keys keyring) *sender {
	return &sender{
		cfg: cfg, store: deps.Store, client: deps.Egress.Client(egress.Options{Timeout: cfg.Timeout}), keys: keys, log: deps.Log,
		interval: deps.PollInterval, wake: make(chan struct{}, 1),
		slots: fairness.New(cfg.MaxSending, maxPerReceiver, cfg.FirstRetry),
	}
}

// trigger has run send due deliveries now.
func (s *sender) trigger() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run sends until ctx ends, then waits for attempts in flight.
func (s *sender) run(ctx context.Context) {
	tick := time.NewTicker(s.interval)
	defer tick.Stop()
	for ctx.Err() == nil {
		if err := s.drain(ctx); err != nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "due deliveries of webhooks cannot be read", "error", err)
		}
		select {
		case <-s.wake:
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	s.inFlight.Wait()
}

// drain sends what is due while slots are free. A slot that becomes free triggers run, and so does an attempt that takes long.
func (s *sender) drain(ctx context.Context) error {
	for {
		eligible, ok := s.slots.Next()
		if !ok {
			return nil
		}
		now := s.store.Now()
		if due, err := s.store.HasDueDeliveries(ctx, now); err != nil || !due {
			return err
		}
		var claimed []webhookdb.Delivery
		err := s.store.Write(ctx, func(tx *store.Tx) (err error) { // one by one: each changes who is eligible next
			claimed, err = tx.ClaimDeliveries(ctx, now, now.Add(s.cfg.Timeout+claimSlack), 1, eligible)
			return err
		})
		if err != nil || len(claimed) == 0 {
			return err
		}
		s.start(ctx, claimed[0])
	}
}

// start sends one delivery in the background.
func (s *sender) start(ctx context.Context, d webhookdb.Delivery) {
	slot := s.slots.Acquire(d.Receiver())
	s.inFlight.Go(func() {
		slow := time.AfterFunc(fairness.Patience, s.trigger)
		defer slow.Stop()
		out := s.attempt(ctx, d)
		s.slots.Release(slot, !out.unrelated && !out.interrupted, out.code != 0)
		s.trigger()
	})
}

// attempt sends a delivery once and records the outcome.
func (s *sender) attempt(ctx context.Context, d webhookdb.Delivery) outcome {
	w, err := s.store.Webhook(ctx, d.Tenant, d.WebhookID)
	var out outcome
	switch {
	case errors.Is(err, store.ErrNotFound):
		out = outcome{problem: "the webhook was deleted", final: true, unrelated: true}
	case err != nil:
		s.log.ErrorContext(ctx, "webhook cannot be read", "webhook_id", d.WebhookID, "error", err)
		return outcome{interrupted: true} // it is claimed again when this claim expires
	case w.Disabled:
		out = outcome{problem: "the webhook is disabled", final: true, unrelated: true}
	default:
		out = s.post(ctx, w, d)
	}
	if ctx.Err() != nil && out.problem != "" {
		out = outcome{interrupted: true}
	}
	// the outcome is recorded also while the process stops
	ctx = context.WithoutCancel(ctx)
	if err := s.store.Write(ctx, func(tx *store.Tx) error { return s.record(ctx, tx, w, d, out) }); err != nil { // it will be sent once more
		s.log.ErrorContext(ctx, "outcome of a delivery cannot be recorded", "webhook_id", d.WebhookID, "delivery_id", d.ID, "error", err)
	}
	return out
}

// record writes the outcome of an attempt, unless another replica has claimed the delivery since.
func (s *sender) record(ctx context.Context, tx *store.Tx, w webhookdb.Webhook, claimed webhookdb.Delivery, out outcome) error {
	if out.gone || !out.unrelated && !out.interrupted && w.ID != "" && w.LastError != out.problem {
		if err := s.recordLastError(ctx, tx, w, claimed, out); err != nil {
			return err
		}
	}
	d, err := tx.LockDelivery(ctx, claimed.Tenant, claimed.WebhookID, claimed.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil // deleted with its webhook or session
	}
	if err != nil || d.Attempts != claimed.Attempts || d.Status != webhookdb.DeliveryPending || !d.Sending {
		return err
	}
	now := s.store.Now()
	d.Sending, d.NextAttempt = false, now
	if out.interrupted {
		return tx.SaveDelivery(ctx, d)
	}
	d.ResponseCode, d.Error = out.code, out.problem
	d.NextAttempt = s.nextAttempt(d, now, out.retryAfter)
	switch {
	case out.problem == "":
		d.Status, d.EndTime = webhookdb.DeliveryDelivered, now
	case out.final || d.NextAttempt.After(d.GiveUp):
		d.Status, d.EndTime = webhookdb.DeliveryFailed, now
	}
	return tx.SaveDelivery(ctx, d)
}

// nextAttempt is the end of the backoff, or the later time that the receiver asked for. If that is past GiveUp, one last attempt
// is made then.
func (s *sender) nextAttempt(d webhookdb.Delivery, now time.Time, asked time.Duration) time.Time {
	next := now.Add(backoff.Policy{First: s.cfg.FirstRetry, Max: maxBackoff, Factor: 3, Jitter: 0.2}.After(d.Attempts))
	if at := now.Add(asked); at.After(next) {
		last := next
		if d.GiveUp.After(last) {
			last = d.GiveUp
		}
		if next = at; next.After(last) {
			next = last
		}
	}
	return next
}

// recordLastError writes the last error of a webhook, and disables one whose own URL is gone.
func (s *sender) recordLastError(ctx context.Context, tx *store.Tx, seen webhookdb.Webhook, d webhookdb.Delivery, out outcome) error {
	w, err := tx.LockWebhook(ctx, seen.Tenant, seen.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil || w.URL != seen.URL { // another URL's answer says nothing about the current one
		return err
	}
	w.LastError = out.problem
	if out.gone && d.URL == "" && !w.Disabled {
		w.Disabled, w.UpdateTime = true, s.store.Now()
	}
	return tx.SaveWebhook(ctx, w)
}
