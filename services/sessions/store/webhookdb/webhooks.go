package webhookdb

import (
	"context"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// Webhook is an endpoint that events of turns are posted to.
type Webhook struct {
	// Tenant and ID name it.
	Tenant, ID string
	// URL is where events are posted to; empty with PerTurn.
	URL string
	// Events are the types it subscribes to; empty means all.
	Events []string
	// AgentID limits it to turns of one agent; empty means all agents.
	AgentID string
	// Description is for people.
	Description string
	// Disabled: nothing is sent to it.
	Disabled bool
	// PerTurn: it signs what is sent to URLs that turns name. A tenant has one at most.
	PerTurn bool
	// LastError is why the last delivery failed, "" if it succeeded.
	LastError string
	// CreatedBy is the subject that created it.
	CreatedBy string
	// Secret is its signing secret, sealed. PreviousSecret is the one before the last rotation, which signs as well until PreviousExpiry.
	Secret, PreviousSecret []byte
	PreviousExpiry         time.Time
	CreateTime, UpdateTime time.Time
}

const webhookColumns = `tenant, id, url, events, agent_id, description, disabled, per_turn, last_error, created_by, secret, old_secret,
	old_until_us,
	create_us, update_us`

func scanWebhook(s sqldb.Scanner) (w Webhook, err error) {
	var disabled, perTurn, expiry, create, update int64
	var events string
	err = s.Scan(&w.Tenant, &w.ID, &w.URL, &events, &w.AgentID, &w.Description, &disabled, &perTurn, &w.LastError, &w.CreatedBy,
		&w.Secret, &w.PreviousSecret, &expiry, &create, &update)
	w.Disabled, w.PerTurn = disabled != 0, perTurn != 0
	w.PreviousExpiry, w.CreateTime, w.UpdateTime = sqldb.Time(expiry), sqldb.Time(create), sqldb.Time(update)
	if events != "" {
		w.Events = strings.Split(events, ",")
	}
	return w, err
}

const selectWebhook = "SELECT " + webhookColumns + " FROM webhooks WHERE tenant = $1 AND id = $2"

// Webhook reads one. ErrNotFound when there is none.
func (s *Reader) Webhook(ctx context.Context, tenant, id string) (Webhook, error) {
	return rows.One(ctx, s.DB.Reader(), scanWebhook, selectWebhook, tenant, id)
}

// PerTurnWebhook reads the tenant's webhook that signs for URLs of turns. ErrNotFound when there is none.
func (s *Reader) PerTurnWebhook(ctx context.Context, tenant string) (Webhook, error) {
	return rows.One(ctx, s.DB.Reader(), scanWebhook, "SELECT "+webhookColumns+" FROM webhooks WHERE tenant = $1 AND per_turn = 1", tenant)
}

// Webhooks lists webhooks by id, after the given one.
func (s *Reader) Webhooks(ctx context.Context, tenant, after string, limit int) ([]Webhook, error) {
	return rows.All(ctx, s.DB.Reader(), scanWebhook,
		"SELECT "+webhookColumns+" FROM webhooks WHERE tenant = $1 AND id > $2 ORDER BY id LIMIT $3",
		tenant, after, limit)
}

// AllWebhooks lists those of all tenants by tenant and id, after the given ones.
func (s *Reader) AllWebhooks(ctx context.Context, tenant, id string, limit int) ([]Webhook, error) {
	return rows.All(ctx, s.DB.Reader(), scanWebhook, "SELECT "+webhookColumns+` FROM webhooks WHERE tenant > $1 OR (tenant = $1 AND id > $2)
		ORDER BY tenant, id LIMIT $3`, tenant, id, limit)
}

// LockWebhook reads one and locks it until the transaction ends. ErrNotFound when there is none.
func (tx *Tx) LockWebhook(ctx context.Context, tenant, id string) (Webhook, error) {
	return sqldb.One(ctx, tx, scanWebhook, selectWebhook+tx.DB.ForUpdate(), tenant, id)
}

// CountWebhooks counts a tenant's webhooks, and those that sign for URLs of turns.
func (tx *Tx) CountWebhooks(ctx context.Context, tenant string) (count, perTurn int, err error) {
	type counts struct{ all, perTurn int }
	n, err := sqldb.One(ctx, tx, func(s sqldb.Scanner) (n counts, err error) {
		err = s.Scan(&n.all, &n.perTurn)
		return n, err
	}, "SELECT count(*), COALESCE(SUM(per_turn), 0) FROM webhooks WHERE tenant = $1", tenant)
	return n.all, n.perTurn, err
}

var insertWebhooks = sqldb.Insert("webhooks", webhookColumns)

// AddWebhook stores a new webhook. ErrExists when its id is taken, or when the tenant has another one that signs for URLs of turns.
func (tx *Tx) AddWebhook(ctx context.Context, w Webhook) error {
	_, err := sqldb.Exec(ctx, tx, insertWebhooks,
		w.Tenant, w.ID, w.URL, strings.Join(w.Events, ","), w.AgentID, w.Description, rows.Flag(w.Disabled), rows.Flag(w.PerTurn), w.LastError,
		w.CreatedBy,
		rows.Blob(w.Secret), rows.Blob(w.PreviousSecret), sqldb.Micros(w.PreviousExpiry), sqldb.Micros(w.CreateTime), sqldb.Micros(w.UpdateTime))
	return rows.Unique(err)
}

// SaveWebhook writes what may change in a locked webhook.
func (tx *Tx) SaveWebhook(ctx context.Context, w Webhook) error {
	return sqldb.ExecOne(ctx, tx, `UPDATE webhooks SET url = $3, events = $4, agent_id = $5, description = $6, disabled = $7, last_error = $8,
		secret = $9, old_secret = $10, old_until_us = $11, update_us = $12 WHERE tenant = $1 AND id = $2`,
		w.Tenant, w.ID, w.URL, strings.Join(w.Events, ","), w.AgentID, w.Description, rows.Flag(w.Disabled), w.LastError, rows.Blob(w.Secret),
		rows.Blob(w.PreviousSecret), sqldb.Micros(w.PreviousExpiry), sqldb.Micros(w.UpdateTime))
}

// DeleteWebhook removes a webhook with its deliveries. ErrNotFound when there is none.
func (tx *Tx) DeleteWebhook(ctx context.Context, tenant, id string) error {
	if err := sqldb.ExecOne(ctx, tx, "DELETE FROM webhooks WHERE tenant = $1 AND id = $2", tenant, id); err != nil {
		return err
	}
	_, err := sqldb.Exec(ctx, tx, "DELETE FROM webhook_deliveries WHERE tenant = $1 AND webhook_id = $2", tenant, id)
	return err
}

// Subscribers lists the enabled webhooks that have a URL and subscribe to turns of an agent.
func (tx *Tx) Subscribers(ctx context.Context, tenant, agent string) ([]Webhook, error) {
	return sqldb.All(ctx, tx, scanWebhook, "SELECT "+webhookColumns+` FROM webhooks WHERE tenant = $1 AND disabled = 0 AND per_turn = 0
		AND (agent_id = '' OR agent_id = $2) ORDER BY id`, tenant, agent)
}

var insertTurnWebhooks = sqldb.Insert("turn_webhooks", "tenant, turn_id, url")

// AddTurnWebhook stores the URL that a turn named for its own events.
func (tx *Tx) AddTurnWebhook(ctx context.Context, tenant, turn, url string) error {
	_, err := sqldb.Exec(ctx, tx, insertTurnWebhooks, tenant, turn, url)
	return err
}

// TurnWebhook reads the URL of a turn and the webhook that signs for it; "" when the turn has none, or when that webhook is
// missing or disabled.
func (tx *Tx) TurnWebhook(ctx context.Context, tenant, turn string) (Webhook, string, error) {
	urls, err := sqldb.All(ctx, tx, sqldb.Column[string], "SELECT url FROM turn_webhooks WHERE tenant = $1 AND turn_id = $2", tenant, turn)
	if err != nil || len(urls) == 0 {
		return Webhook{}, "", err
	}
	signers, err := sqldb.All(ctx, tx, scanWebhook, "SELECT "+webhookColumns+
		" FROM webhooks WHERE tenant = $1 AND per_turn = 1 AND disabled = 0", tenant)
	if err != nil || len(signers) == 0 {
		return Webhook{}, "", err
	}
	return signers[0], urls[0], nil
}

// DeleteTurnWebhook removes the URL of a turn, if it has one.
func (tx *Tx) DeleteTurnWebhook(ctx context.Context, tenant, turn string) error {
	_, err := sqldb.Exec(ctx, tx, "DELETE FROM turn_webhooks WHERE tenant = $1 AND turn_id = $2", tenant, turn)
	return err
}
