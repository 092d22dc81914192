package webhookdb

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// DeliveryStatus is the state of a delivery.
type DeliveryStatus int

// States of a delivery.
const (
	DeliveryPending DeliveryStatus = iota
	DeliveryDelivered
	DeliveryFailed
)

// Delivery is one event of a turn on its way to one receiver.
type Delivery struct {
	// Tenant and ID name it.
	Tenant, ID string
	// WebhookID is the webhook that it is for, or that signs it; TurnID and SessionID are what it is about.
	WebhookID, TurnID, SessionID string
	// Type is the event's.
	Type string
	// URL is the one that the turn named; empty means the webhook's.
	URL string
	// Body is what is sent; lists leave it out.
	Body   []byte
	Status DeliveryStatus
	// Attempts counts how often it was claimed.
	Attempts int
	// Sending: a replica has claimed it until NextAttempt.
	Sending bool
	// NextAttempt is when it may be claimed next; after GiveUp it fails instead.
	NextAttempt, GiveUp time.Time
	// ResponseCode is the HTTP status of the last answer, 0 without one; Error is why the last attempt failed.
	ResponseCode int
	Error        string
	// CreateTime is when the event happened, EndTime when the delivery was delivered or failed.
	CreateTime, EndTime time.Time
}

const (
	deliveryColumns = `tenant, id, webhook_id, turn_id, session_id, type, url, status, attempts, sending, next_us, give_up_us, response_code,
	error, create_us, end_us`
	selectDelivery = "SELECT " + deliveryColumns + " FROM webhook_deliveries WHERE tenant = $1 AND webhook_id = $2 AND id = $3"
)

func (d *Delivery) scan(s sqldb.Scanner, more ...any) error {
	var sending, next, giveUp, create, end int64
	err := s.Scan(append([]any{
		&d.Tenant, &d.ID, &d.WebhookID, &d.TurnID, &d.SessionID, &d.Type, &d.URL, &d.Status, &d.Attempts, &sending, &next, &giveUp,
		&d.ResponseCode, &d.Error, &create, &end,
	}, more...)...)
	d.Sending = sending != 0
	d.NextAttempt, d.GiveUp, d.CreateTime, d.EndTime = sqldb.Time(next), sqldb.Time(giveUp), sqldb.Time(create), sqldb.Time(end)
	return err
}

func scanDelivery(s sqldb.Scanner) (d Delivery, err error) {
	err = d.scan(s)
	return d, err
}

var insertWebhookDeliveries = sqldb.Insert("webhook_deliveries", deliveryColumns+", body")

// AddDelivery stores a new delivery.
func (tx *Tx) AddDelivery(ctx context.Context, d Delivery) error {
	_, err := sqldb.Exec(ctx, tx, insertWebhookDeliveries,
		d.Tenant, d.ID, d.WebhookID, d.TurnID, d.SessionID, d.Type, d.URL, d.Status, d.Attempts, rows.Flag(d.Sending),
		sqldb.Micros(d.NextAttempt),
		sqldb.Micros(d.GiveUp), d.ResponseCode, d.Error, sqldb.Micros(d.CreateTime), sqldb.Micros(d.EndTime), rows.Blob(d.Body))
	return err
}

// Deliveries lists those of a webhook, newest first, before the given id; "" = from the newest on.
func (s *Reader) Deliveries(ctx context.Context, tenant, webhook, before string, limit int) ([]Delivery, error) {
	return rows.All(ctx, s.DB.Reader(), scanDelivery, "SELECT "+deliveryColumns+` FROM webhook_deliveries
		WHERE tenant = $1 AND webhook_id = $2 AND ($3 = '' OR id < $3) ORDER BY id DESC LIMIT $4`, tenant, webhook, before, limit)
}

// LockDelivery reads one and locks it until the transaction ends. ErrNotFound when there is none.
func (tx *Tx) LockDelivery(ctx context.Context, tenant, webhook, id string) (Delivery, error) {
	return sqldb.One(ctx, tx, scanDelivery, selectDelivery+tx.DB.ForUpdate(), tenant, webhook, id)
}

// SaveDelivery writes the state of a locked delivery.
func (tx *Tx) SaveDelivery(ctx context.Context, d Delivery) error {
	return sqldb.ExecOne(ctx, tx, `UPDATE webhook_deliveries SET status = $3, sending = $4, next_us = $5, give_up_us = $6, response_code = $7,
		error = $8, end_us = $9 WHERE tenant = $1 AND id = $2`,
		d.Tenant, d.ID, d.Status, rows.Flag(d.Sending), sqldb.Micros(d.NextAttempt), sqldb.Micros(d.GiveUp), d.ResponseCode, d.Error,
		sqldb.Micros(d.EndTime))
}

// HasDueDeliveries reports whether a pending delivery is due.
func (s *Reader) HasDueDeliveries(ctx context.Context, now time.Time) (bool, error) {
	n, err := rows.One(ctx, s.DB.Reader(), sqldb.Column[int],
		"SELECT count(*) FROM (SELECT 1 FROM webhook_deliveries WHERE status = 0 AND next_us <= $1 LIMIT 1) AS d", sqldb.Micros(now))
	return n > 0, err
}

// Receiver is what deliveries are sent to.
type Receiver struct {
	Tenant, WebhookID string
	// URL is the one that a turn named; "" means the webhook's own.
	URL string
}

// Receiver returns the delivery's.
func (d Delivery) Receiver() Receiver { return Receiver{d.Tenant, d.WebhookID, d.URL} }

// ReceiverFilter limits whose deliveries are claimed. The zero value admits every receiver.
type ReceiverFilter struct {
	// Excluded receivers are skipped.
	Excluded []Receiver
	// OnlyListed admits no receiver but those in Listed, MaxListed at most.
	OnlyListed bool
	Listed     []Receiver
}

// MaxListed bounds ReceiverFilter.Listed.
const MaxListed = 200

// where writes the filter as a condition whose arguments follow args.
func (f ReceiverFilter) where(args []any) (string, []any) {
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
	case f.OnlyListed && len(f.Listed) == 0:
		return " AND 1 = 0", args
	case f.OnlyListed:
		text.WriteString(" AND (")
		each(f.Listed, " OR ", "")
		text.WriteString(")")
	case len(f.Excluded) > 0:
		text.WriteString(" AND ")
		each(f.Excluded, " AND ", "NOT ")
	}
	return text.String(), args
}

// ClaimDeliveries claims up to limit due deliveries that the filter admits, those due longest first. No other replica gets them
// before until.
func (tx *Tx) ClaimDeliveries(ctx context.Context, now, until time.Time, limit int, filter ReceiverFilter) ([]Delivery, error) {
	admitted, args := filter.where([]any{sqldb.Micros(now), limit})
	claimed, err := sqldb.All(ctx, tx, func(s sqldb.Scanner) (d Delivery, err error) {
		err = d.scan(s, &d.Body)
		return d, err
	}, "SELECT "+deliveryColumns+", body FROM webhook_deliveries WHERE status = 0 AND next_us <= $1"+admitted+" ORDER BY next_us LIMIT $2"+
		tx.DB.SkipLocked(), args...)
	if err != nil {
		return nil, err
	}
	for i := range claimed {
		d := &claimed[i]
		d.Attempts, d.NextAttempt, d.Sending = d.Attempts+1, until, true
		if err := sqldb.ExecOne(ctx, tx, "UPDATE webhook_deliveries SET next_us = $3, attempts = $4, sending = 1 WHERE tenant = $1 AND id = $2",
			d.Tenant, d.ID, sqldb.Micros(until), d.Attempts); err != nil {
			return nil, err
		}
	}
	return claimed, nil
}

// RemoveDeliveries removes up to limit deliveries that ended before the given time.
func (s *Reader) RemoveDeliveries(ctx context.Context, before time.Time, limit int) error {
	return s.Transact(ctx, func(tx *rows.Tx) error {
		old, err := sqldb.All(ctx, tx, scanDelivery, "SELECT "+deliveryColumns+
			" FROM webhook_deliveries WHERE status > 0 AND end_us < $1 ORDER BY end_us LIMIT $2"+tx.DB.SkipLocked(), sqldb.Micros(before), limit)
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
