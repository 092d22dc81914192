package store

import (
	"context"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// Webhook is an address that is told of the ends of turns.
type Webhook struct {
	// Tenant and ID name it.
	Tenant, ID string
	// URL is where to post to; empty with PerTurn.
	URL string
	// Events are the types it is told of, separated by commas; empty = all.
	Events string
	// AgentID limits it to one agent's turns; empty = of all.
	AgentID string
	// Description is for people.
	Description string
	// Disabled: nothing is sent to it.
	Disabled bool
	// PerTurn: it signs what is sent to addresses that turns name. A tenant has one at most.
	PerTurn bool
	// LastError is why the last delivery failed, "" if it did not.
	LastError string
	// CreatedBy is the subject who made it.
	CreatedBy string
	// Secret is its signing secret, sealed. OldSecret is the one before, which signs too until OldUntilUs.
	Secret, OldSecret []byte
	OldUntilUs        int64
	// CreateUs and UpdateUs are when it was made and changed, in Unix microseconds.
	CreateUs, UpdateUs int64
}

const webhookColumns = `tenant, id, url, events, agent_id, description, disabled, per_turn, last_error, created_by, secret, old_secret, old_until_us,
	create_us, update_us`

func scanWebhook(s sqldb.Scanner) (w Webhook, err error) {
	var disabled, perTurn int64
	err = s.Scan(&w.Tenant, &w.ID, &w.URL, &w.Events, &w.AgentID, &w.Description, &disabled, &perTurn, &w.LastError, &w.CreatedBy,
		&w.Secret, &w.OldSecret, &w.OldUntilUs, &w.CreateUs, &w.UpdateUs)
	w.Disabled, w.PerTurn = disabled != 0, perTurn != 0
	return w, err
}

const selectWebhook = "SELECT " + webhookColumns + " FROM webhooks WHERE tenant = $1 AND id = $2"

// Webhook reads one. ErrNotFound when there is none.
func (s *Store) Webhook(ctx context.Context, tenant, id string) (Webhook, error) {
	return one(ctx, s.db.Reader(), scanWebhook, selectWebhook, tenant, id)
}

// TurnsWebhook reads the tenant's webhook that signs for addresses of turns. ErrNotFound when there is none.
func (s *Store) TurnsWebhook(ctx context.Context, tenant string) (Webhook, error) {
	return one(ctx, s.db.Reader(), scanWebhook, "SELECT "+webhookColumns+" FROM webhooks WHERE tenant = $1 AND per_turn = 1", tenant)
}

// Webhooks lists webhooks by id, after the given one.
func (s *Store) Webhooks(ctx context.Context, tenant, after string, limit int) ([]Webhook, error) {
	return all(ctx, s.db.Reader(), scanWebhook, "SELECT "+webhookColumns+" FROM webhooks WHERE tenant = $1 AND id > $2 ORDER BY id LIMIT $3",
		tenant, after, limit)
}

// AllWebhooks lists those of all tenants by tenant and id, after the given ones.
func (s *Store) AllWebhooks(ctx context.Context, tenant, id string, limit int) ([]Webhook, error) {
	return all(ctx, s.db.Reader(), scanWebhook, "SELECT "+webhookColumns+` FROM webhooks WHERE tenant > $1 OR (tenant = $1 AND id > $2)
		ORDER BY tenant, id LIMIT $3`, tenant, id, limit)
}

// LockWebhook reads one and keeps others from changing it until the transaction ends.
func (tx *Tx) LockWebhook(ctx context.Context, tenant, id string) (Webhook, error) {
	return sqldb.One(ctx, tx, scanWebhook, selectWebhook+tx.db.ForUpdate(), tenant, id)
}

// CountWebhooks counts a tenant's webhooks, and those that sign for addresses of turns.
func (tx *Tx) CountWebhooks(ctx context.Context, tenant string) (count, perTurn int, err error) {
	type counts struct{ all, perTurn int }
	n, err := sqldb.One(ctx, tx, func(s sqldb.Scanner) (n counts, err error) {
		err = s.Scan(&n.all, &n.perTurn)
		return n, err
	}, "SELECT count(*), COALESCE(SUM(per_turn), 0) FROM webhooks WHERE tenant = $1", tenant)
	return n.all, n.perTurn, err
}

// AddWebhook stores a new webhook. sqldb.ErrConflict or a duplicate's error when the tenant has one for its turns already.
func (tx *Tx) AddWebhook(ctx context.Context, w Webhook) error {
	_, err := sqldb.Exec(ctx, tx, "INSERT INTO webhooks ("+webhookColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
		w.Tenant, w.ID, w.URL, w.Events, w.AgentID, w.Description, flag(w.Disabled), flag(w.PerTurn), w.LastError, w.CreatedBy,
		blob(w.Secret), blob(w.OldSecret), w.OldUntilUs, w.CreateUs, w.UpdateUs)
	return err
}

// SaveWebhook writes what changes in a locked webhook.
func (tx *Tx) SaveWebhook(ctx context.Context, w Webhook) error {
	return sqldb.ExecOne(ctx, tx, `UPDATE webhooks SET url = $3, events = $4, agent_id = $5, description = $6, disabled = $7, last_error = $8,
		secret = $9, old_secret = $10, old_until_us = $11, update_us = $12 WHERE tenant = $1 AND id = $2`,
		w.Tenant, w.ID, w.URL, w.Events, w.AgentID, w.Description, flag(w.Disabled), w.LastError, blob(w.Secret), blob(w.OldSecret), w.OldUntilUs,
		w.UpdateUs)
}

// DeleteWebhook removes a webhook with its deliveries. ErrNotFound when there is none.
func (tx *Tx) DeleteWebhook(ctx context.Context, tenant, id string) error {
	if err := sqldb.ExecOne(ctx, tx, "DELETE FROM webhooks WHERE tenant = $1 AND id = $2", tenant, id); err != nil {
		return err
	}
	_, err := sqldb.Exec(ctx, tx, "DELETE FROM webhook_deliveries WHERE tenant = $1 AND webhook_id = $2", tenant, id)
	return err
}

// ToldOf lists the enabled webhooks that may be told of a turn of an agent: those with an address of their own.
func (tx *Tx) ToldOf(ctx context.Context, tenant, agent string) ([]Webhook, error) {
	return sqldb.All(ctx, tx, scanWebhook, "SELECT "+webhookColumns+` FROM webhooks WHERE tenant = $1 AND disabled = 0 AND per_turn = 0
		AND (agent_id = '' OR agent_id = $2) ORDER BY id`, tenant, agent)
}

// AddTurnWebhook keeps the address that is told of the end of one turn.
func (tx *Tx) AddTurnWebhook(ctx context.Context, tenant, turn, url string) error {
	_, err := sqldb.Exec(ctx, tx, "INSERT INTO turn_webhooks (tenant, turn_id, url) VALUES ($1, $2, $3)", tenant, turn, url)
	return err
}

// TurnWebhook reads the address of a turn, "" when it has none, and the webhook that signs for it. Without such a webhook, or with a disabled
// one, there is nobody to tell: "".
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

// DropTurnWebhook forgets the address of a turn, if it has one.
func (tx *Tx) DropTurnWebhook(ctx context.Context, tenant, turn string) error {
	_, err := sqldb.Exec(ctx, tx, "DELETE FROM turn_webhooks WHERE tenant = $1 AND turn_id = $2", tenant, turn)
	return err
}

// blob is never NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
