package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// How deliveries stand.
const (
	DeliveryPending = iota
	DeliveryDelivered
	DeliveryFailed
)

// Delivery is one end of a turn on its way to a webhook.
type Delivery struct {
	// Tenant and ID name it.
	Tenant, ID string
	// WebhookID, TurnID and SessionID are whom it is for and what it is about.
	WebhookID, TurnID, SessionID string
	// Type is the event's.
	Type string
	// URL is the turn's own address; empty = the webhook's.
	URL string
	// Body is what is sent; not read by lists.
	Body []byte
	// Status is DeliveryPending, DeliveryDelivered or DeliveryFailed.
	Status int
	// Attempts counts how often it was taken.
	Attempts int
	// Sending: somebody has taken it and sends it, until NextUs at most.
	Sending bool
	// NextUs is when it may be taken next, GiveUpUs when it is not tried any more.
	NextUs, GiveUpUs int64
	// ResponseCode is the HTTP status of the last answer, 0 without one; Error is why the last attempt failed.
	ResponseCode int
	Error        string
	// CreateUs is when the turn ended, EndUs when the delivery came to its end, both in Unix microseconds.
	CreateUs, EndUs int64
}

const (
	deliveryColumns = `tenant, id, webhook_id, turn_id, session_id, type, url, status, attempts, sending, next_us, give_up_us, response_code,
	error, create_us, end_us`
	selectDelivery = "SELECT " + deliveryColumns + " FROM webhook_deliveries WHERE tenant = $1 AND webhook_id = $2 AND id = $3"
)

func (d *Delivery) scan(s sqldb.Scanner, more ...any) error {
	var sending int64
	err := s.Scan(append([]any{
		&d.Tenant, &d.ID, &d.WebhookID, &d.TurnID, &d.SessionID, &d.Type, &d.URL, &d.Status, &d.Attempts, &sending, &d.NextUs, &d.GiveUpUs,
		&d.ResponseCode, &d.Error, &d.CreateUs, &d.EndUs,
	}, more...)...)
	d.Sending = sending != 0
	return err
}

func scanDelivery(s sqldb.Scanner) (d Delivery, err error) {
	err = d.scan(s)
	return d, err
}

// AddDelivery stores a new delivery.
func (tx *Tx) AddDelivery(ctx context.Context, d Delivery) error {
	_, err := sqldb.Exec(ctx, tx, "INSERT INTO webhook_deliveries ("+deliveryColumns+
		", body) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
		d.Tenant, d.ID, d.WebhookID, d.TurnID, d.SessionID, d.Type, d.URL, d.Status, d.Attempts, flag(d.Sending), d.NextUs, d.GiveUpUs,
		d.ResponseCode, d.Error, d.CreateUs, d.EndUs, blob(d.Body))
	return err
}

// Deliveries lists those of a webhook, newest first, before the given id; "" = from the newest on.
func (s *Store) Deliveries(ctx context.Context, tenant, webhook, before string, limit int) ([]Delivery, error) {
	if before == "" {
		before = "~" // above all ids
	}
	return all(ctx, s.db.Reader(), scanDelivery, "SELECT "+deliveryColumns+` FROM webhook_deliveries
		WHERE tenant = $1 AND webhook_id = $2 AND id < $3 ORDER BY id DESC LIMIT $4`, tenant, webhook, before, limit)
}

// LockDelivery reads one and keeps others from changing it until the transaction ends. ErrNotFound when there is none.
func (tx *Tx) LockDelivery(ctx context.Context, tenant, webhook, id string) (Delivery, error) {
	return sqldb.One(ctx, tx, scanDelivery, selectDelivery+tx.db.ForUpdate(), tenant, webhook, id)
}

// SaveDelivery writes how a locked delivery stands.
func (tx *Tx) SaveDelivery(ctx context.Context, d Delivery) error {
	return sqldb.ExecOne(ctx, tx, `UPDATE webhook_deliveries SET status = $3, sending = $4, next_us = $5, give_up_us = $6, response_code = $7,
		error = $8, end_us = $9 WHERE tenant = $1 AND id = $2`,
		d.Tenant, d.ID, d.Status, flag(d.Sending), d.NextUs, d.GiveUpUs, d.ResponseCode, d.Error, d.EndUs)
}

// HasDueDeliveries tells whether there is something to send now.
func (s *Store) HasDueDeliveries(ctx context.Context, nowUs int64) (bool, error) {
	n, err := one(ctx, s.db.Reader(), sqldb.Column[int],
		"SELECT count(*) FROM (SELECT 1 FROM webhook_deliveries WHERE status = 0 AND next_us <= $1 LIMIT 1) AS d", nowUs)
	return n > 0, err
}

// Receiver is who a delivery is for.
type Receiver struct {
	Tenant, WebhookID string
	// URL is the address that a turn named; "" = the webhook's own.
	URL string
}

// Receiver says who the delivery is for.
func (d Delivery) Receiver() Receiver { return Receiver{d.Tenant, d.WebhookID, d.URL} }

// Choice says whose deliveries may be taken.
type Choice struct {
	// Not lists those whose may not.
	Not []Receiver
	// OnlyThese limits the choice to These, MaxChoice at most.
	OnlyThese bool
	These     []Receiver
}

// MaxChoice bounds Choice.These.
const MaxChoice = 200

// where writes the choice as a condition, after the arguments there are.
func (c Choice) where(args []any) (string, []any) {
	var text strings.Builder
	each := func(receivers []Receiver, join, not string) {
		for i, r := range receivers {
			if i > 0 {
				text.WriteString(join)
			}
			n := len(args)
			fmt.Fprintf(&text, "%s(tenant = $%d AND webhook_id = $%d AND url = $%d)", not, n+1, n+2, n+3)
			args = append(args, r.Tenant, r.WebhookID, r.URL)
		}
	}
	switch {
	case c.OnlyThese && len(c.These) == 0:
		return " AND 1 = 0", args
	case c.OnlyThese:
		text.WriteString(" AND (")
		each(c.These, " OR ", "")
		text.WriteString(")")
	case len(c.Not) > 0:
		text.WriteString(" AND ")
		each(c.Not, " AND ", "NOT ")
	}
	return text.String(), args
}

// TakeDeliveries takes up to limit deliveries that are due and within the choice, those due longest first, for a while: nobody else gets them before
// untilUs.
func (tx *Tx) TakeDeliveries(ctx context.Context, nowUs, untilUs int64, limit int, choice Choice) ([]Delivery, error) {
	within, args := choice.where([]any{nowUs, limit})
	taken, err := sqldb.All(ctx, tx, func(s sqldb.Scanner) (d Delivery, err error) {
		err = d.scan(s, &d.Body)
		return d, err
	}, "SELECT "+deliveryColumns+", body FROM webhook_deliveries WHERE status = 0 AND next_us <= $1"+within+" ORDER BY next_us LIMIT $2"+tx.db.SkipLocked(), args...)
	if err != nil {
		return nil, err
	}
	for i := range taken {
		d := &taken[i]
		d.Attempts, d.NextUs, d.Sending = d.Attempts+1, untilUs, true
		if err := sqldb.ExecOne(ctx, tx, "UPDATE webhook_deliveries SET next_us = $3, attempts = $4, sending = 1 WHERE tenant = $1 AND id = $2",
			d.Tenant, d.ID, untilUs, d.Attempts); err != nil {
			return nil, err
		}
	}
	return taken, nil
}

// ForgetDeliveries removes deliveries that came to an end before the given time, up to limit of them.
func (s *Store) ForgetDeliveries(ctx context.Context, beforeUs int64, limit int) error {
	return s.Write(ctx, func(tx *Tx) error {
		old, err := sqldb.All(ctx, tx, scanDelivery, "SELECT "+deliveryColumns+
			" FROM webhook_deliveries WHERE status > 0 AND end_us < $1 ORDER BY end_us LIMIT $2"+tx.db.SkipLocked(), beforeUs, limit)
		if err != nil {
			return err
		}
		for _, d := range old {
			if _, err := sqldb.Exec(ctx, tx, "DELETE FROM webhook_deliveries WHERE tenant = $1 AND id = $2", d.Tenant, d.ID); err != nil {
				return err
			}
		}
		return nil
	})
}
