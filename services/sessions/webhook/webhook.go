// Package webhook keeps webhooks and delivers events of turns to them, at least once, signed as Standard Webhooks specifies.
//
// A delivery is a row written in the transaction of its event. Any replica may send it: it takes the row for the time of one attempt.
package webhook

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/secret"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/webhookdb"
)

// Deps are what the service needs; all are required.
type Deps struct {
	Store *store.Store
	// Egress is how receivers are reached.
	Egress *egress.Egress
	// SealKey seals signing secrets at rest; without it no webhook can be created. OldSealKeys open what earlier keys sealed.
	SealKey     secret.Value
	OldSealKeys []secret.Value
	// PollInterval is how often due deliveries are looked up when nothing triggers a lookup.
	PollInterval time.Duration
	Log          *slog.Logger
}

// Service manages webhooks. It is safe for concurrent use.
type Service struct {
	cfg        Config
	store      *store.Store
	egress     *egress.Egress
	keys       keyring
	hasOldKeys bool
	sender     *sender
	log        *slog.Logger
}

// New makes the service. cfg must be complete.
func New(cfg Config, deps Deps) (*Service, error) {
	keys, err := newKeyring(deps.SealKey, deps.OldSealKeys)
	if err != nil {
		return nil, err
	}
	return &Service{
		cfg: cfg, store: deps.Store, egress: deps.Egress, keys: keys, hasOldKeys: len(deps.OldSealKeys) > 0, log: deps.Log,
		sender: newSender(cfg, deps, keys),
	}, nil
}

// Run sends deliveries until ctx ends, then waits for attempts in flight.
func (s *Service) Run(ctx context.Context) { s.sender.run(ctx) }

// Maintain removes deliveries past their retention and reseals secrets with the current key.
func (s *Service) Maintain(ctx context.Context) error {
	return errors.Join(s.removeOldDeliveries(ctx), s.reseal(ctx))
}

func errNotFound(id string) error {
	return fault.NotFound("webhook %q does not exist", strings.ReplaceAll(id, "\x00", ""))
}

func errExists(id string) error {
	return fault.AlreadyExists("webhook %q exists already", id).Hint("Choose another id, or update the webhook.")
}

func errSecondPerTurn() error {
	return fault.New(codes.AlreadyExists, faultv1.Reason_REASON_ALREADY_EXISTS, "there is a webhook for the addresses of turns already").
		Hint("Use it; :rotate gives it a new secret.")
}

// ErrPerTurnFixed is the fault of a change of per_turn.
func ErrPerTurnFixed(is bool) error {
	return fault.Invalid("webhook.per_turn", "is %t and cannot be changed: create another webhook", is)
}

// New prepares a webhook with a new signing secret, which is returned in clear this once. An empty id is generated.
func (s *Service) New(w webhookdb.Webhook) (webhookdb.Webhook, secret.Value, error) {
	now := s.store.Now()
	if w.ID == "" {
		w.ID = ids.New(ids.Webhook)
	}
	w.CreateTime, w.UpdateTime = now, now
	if err := s.validate(w); err != nil {
		return w, secret.Value{}, err
	}
	key, err := s.keys.rotate(&w, false, now)
	return w, key, err
}

// Create stores a new webhook and returns it with its signing secret.
func (s *Service) Create(ctx context.Context, want webhookdb.Webhook) (webhookdb.Webhook, secret.Value, error) {
	w, key, err := s.New(want)
	if err != nil {
		return w, key, err
	}
	err = s.store.Write(ctx, func(tx *store.Tx) error { return s.Add(ctx, tx, w) })
	return w, key, err
}

// Add stores a webhook prepared by New, within the tenant's quota.
func (s *Service) Add(ctx context.Context, tx *store.Tx, w webhookdb.Webhook) error {
	switch _, err := tx.LockWebhook(ctx, w.Tenant, w.ID); {
	case err == nil:
		return errExists(w.ID)
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	if err := s.checkQuota(ctx, tx, w); err != nil {
		return err
	}
	switch err := tx.AddWebhook(ctx, w); {
	case errors.Is(err, store.ErrExists) && w.PerTurn:
		return errSecondPerTurn()
	case errors.Is(err, store.ErrExists):
		return errExists(w.ID)
	default:
		return err
	}
}

func (s *Service) checkQuota(ctx context.Context, tx *store.Tx, w webhookdb.Webhook) error {
	count, perTurn, err := tx.CountWebhooks(ctx, w.Tenant)
	switch {
	case err != nil:
		return err
	case w.PerTurn && perTurn > 0:
		return errSecondPerTurn()
	case count >= s.cfg.MaxWebhooks:
		return fault.FailedPrecondition(faultv1.Reason_REASON_LIMIT_REACHED, "there are %d webhooks, the most a tenant may have", count).
			Hint("Delete one, or raise sessions.webhooks.max_webhooks.")
	}
	return nil
}
