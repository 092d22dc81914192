// Package journal is the one writer of durable events. An event is written in the same transaction as the change it records, gets
// the next seq of its session, and goes to the bus once the transaction is committed.
package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/faultpoint"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/totalsdb"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// cancelRequested is the type of the event that also stops the step under way.
const cancelRequested = "turn.cancel_requested"

// maxPublished is the size in bytes above which the bus gets an event's envelope only; watchers then read it from the journal.
// Events of one transaction that are larger together are published in several messages.
const maxPublished = 256 << 10

// publisher is the bus's part that the journal needs. It must not block.
type publisher interface {
	Publish(subject string, data []byte) error
}

// Journal writes events. It is safe for concurrent use.
type Journal struct {
	store *store.Store
	bus   publisher
	log   *slog.Logger
	meter meter
}

// New returns a journal over a store, published on a bus.
func New(s *store.Store, bus publisher, log *slog.Logger) *Journal {
	return &Journal{store: s, bus: bus, log: log, meter: newMeter()}
}

// Tx is a transaction that may append to the journal of one session, the one it locked.
type Tx struct {
	*store.Tx
	// Session is the locked session. Changes made to it are saved at the end of the transaction, after Touch or Append.
	Session store.Session
	// Said is the newest message that the transaction has added to the conversation, nil before the first.
	Said *turnv1.Message

	ctx     context.Context
	now     time.Time
	touched bool
	turn    *store.Turn
	after   []func(context.Context)
	ended   []store.Turn
	first   time.Duration
	rows    []store.Event
	large   map[int][]byte // envelopes of events too large for the bus, by index in rows
}

// Write runs f in a transaction, then writes the events f appended and the session f changed, commits, and publishes them. After
// an error nothing stands. Like every transaction it may run again after a conflict.
func (j *Journal) Write(ctx context.Context, f func(*Tx) error) error {
	var done *Tx
	err := j.store.Write(ctx, func(stx *store.Tx) error {
		tx := &Tx{Tx: stx, ctx: ctx, now: stx.Now()}
		if err := f(tx); err != nil {
			return err
		}
		done = tx
		return tx.flush()
	})
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // it stands, whether or not the caller still waits
	j.publish(ctx, done)
	for _, t := range done.ended {
		j.meter.ended(ctx, t)
	}
	if done.first > 0 {
		j.meter.first.Record(ctx, done.first.Seconds())
	}
	for _, f := range done.after {
		f(ctx)
	}
	return nil
}

// Lock locks a session and makes it the transaction's.
func (tx *Tx) Lock(tenant, session string) error {
	var err error
	tx.Session, err = tx.LockSession(tx.ctx, tenant, session)
	return err
}

// LockTurn locks the session of a turn, makes it the transaction's, and reads the turn.
func (tx *Tx) LockTurn(tenant, turn string) (t store.Turn, err error) {
	tx.Session, t, err = tx.Tx.LockTurn(tx.ctx, tenant, turn)
	return t, err
}

// Context is the transaction's.
func (tx *Tx) Context() context.Context { return tx.ctx }

// Touch has the changed session saved.
func (tx *Tx) Touch() { tx.touched = true }

// Now is the database's time at the start of the transaction.
func (tx *Tx) Now() time.Time { return tx.now }

// KeepTurn has a turn of the locked session saved as it is at the end of the transaction, once, however often it changes until then.
func (tx *Tx) KeepTurn(t *store.Turn) { tx.turn = t }

// EndTurn is store.Tx.EndTurn: it saves what KeepTurn was to save.
func (tx *Tx) EndTurn(ctx context.Context, t store.Turn) (subscribed bool, err error) {
	if tx.turn != nil && tx.turn.ID == t.ID {
		tx.turn = nil
	}
	tx.ended = append(tx.ended, t)
	return tx.Tx.EndTurn(ctx, t)
}

// RecordStep writes an outcome that no worker commits, such as the end of a wait, as a step of a turn that is done.
func (tx *Tx) RecordStep(t store.Turn, outcome *turnv1.StepOutcome) error {
	data, err := proto.Marshal(outcome)
	if err != nil {
		return fmt.Errorf("outcome of step %s: %w", outcome.GetKey(), err)
	}
	return tx.SaveStep(tx.ctx, store.Step{
		Tenant: t.Tenant, TurnID: t.ID, Key: outcome.GetKey(), Kind: outcome.GetKind(), Fence: 1, Attempt: 1, Done: true,
		StartTime: tx.Now(), FirstSeq: tx.Session.LastSeq, MessageID: outcome.GetMessageId(), Outcome: data,
	})
}

// After calls f once the transaction is committed and its events are published; never otherwise.
func (tx *Tx) After(f func(context.Context)) { tx.after = append(tx.after, f) }

// Origin says what an event belongs to.
type Origin struct {
	// TurnID is the turn, "" for events of the whole session. AgentPath are its agents from the outermost on, separated by "/".
	TurnID, AgentPath string
	// Step and Attempt are set for events of a step.
	Step    string
	Attempt uint32
}

// Append gives e the next seq and the rest of its envelope; only its data is read. It returns the seq. Transient events are refused.
func (tx *Tx) Append(from Origin, e *turnv1.Event) (uint32, error) {
	kind := Type(e)
	if kind == "" {
		return 0, fmt.Errorf("append %T: %w", e.GetData(), ErrTransient)
	}
	seq := tx.Session.LastSeq + 1
	full := &turnv1.Event{
		Seq: seq, Type: kind, Time: timestamppb.New(tx.Now()), SessionId: tx.Session.ID, TurnId: from.TurnID,
		Step: from.Step, Attempt: from.Attempt, Actor: authn.From(tx.ctx).GetSubject(), Data: e.GetData(),
	}
	if from.AgentPath != "" {
		full.AgentPath = strings.Split(from.AgentPath, "/")
	}
	if span := trace.SpanContextFromContext(tx.ctx); span.HasTraceID() {
		full.TraceId = span.TraceID().String()
	}
	data, err := proto.Marshal(full)
	if err != nil {
		return 0, fmt.Errorf("append %s: %w", kind, err)
	}
	if len(data) > maxPublished {
		if err := tx.keepEnvelope(full); err != nil {
			return 0, err
		}
	}
	tx.Session.LastSeq, tx.Session.OpenSeq, tx.touched = seq, Open(tx.Session.OpenSeq, tx.Session.ActiveTurnID, full), true
	tx.rows = append(tx.rows, store.Event{
		Seq: seq, TurnID: from.TurnID, Type: kind, OpenSeq: tx.Session.OpenSeq, Time: tx.Now(), Data: data,
	})
	return seq, nil
}

// ErrTransient means that an event is none the journal keeps.
var ErrTransient = errors.New("not a durable event")

func (tx *Tx) keepEnvelope(e *turnv1.Event) error {
	envelope, err := proto.Marshal(&turnv1.Event{Seq: e.GetSeq(), Type: e.GetType(), SessionId: e.GetSessionId(), TurnId: e.GetTurnId()})
	if err != nil {
		return fmt.Errorf("append %s: %w", e.GetType(), err)
	}
	if tx.large == nil {
		tx.large = map[int][]byte{}
	}
	tx.large[len(tx.rows)] = envelope
	return nil
}

func (tx *Tx) flush() error {
	if tx.turn != nil {
		if err := tx.SaveTurn(tx.ctx, *tx.turn); err != nil {
			return err
		}
	}
	if len(tx.rows) > 0 {
		if err := tx.AddEvents(tx.ctx, tx.Session.Tenant, tx.Session.ID, tx.rows); err != nil {
			return err
		}
	}
	if tx.touched {
		tx.Session.UpdateTime = tx.Now()
		if err := tx.SaveSession(tx.ctx, tx.Session); err != nil {
			return err
		}
	}
	return tx.countEnded()
}

// countEnded counts the turns that end, in one order in all transactions, and last: other sessions count in the same rows, and wait for the
// commit.
func (tx *Tx) countEnded() error {
	slices.SortFunc(tx.ended, func(a, b store.Turn) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), strings.Compare(a.End.GetStopReason(), b.End.GetStopReason()),
			strings.Compare(a.Model, b.Model), strings.Compare(a.AgentID, b.AgentID))
	})
	for _, t := range tx.ended {
		if err := totalsdb.CountEnded(tx.ctx, tx, totalsdb.Ended{
			SessionID: t.SessionID, Status: t.Status, StopReason: t.End.GetStopReason(), Tenant: t.Tenant, Agent: t.AgentID, Model: t.Model,
			EndTime: t.EndTime, Usage: t.Usage,
		}); err != nil {
			return err
		}
	}
	return nil
}

// publish announces events on the bus. An unavailable bus is no error: watchers read the journal.
func (j *Journal) publish(ctx context.Context, tx *Tx) {
	if len(tx.rows) == 0 {
		return
	}
	faultpoint.Hit(faultpoint.Journaled)
	var packed []byte
	var cancelled []string
	for i, row := range tx.rows {
		data := row.Data
		if envelope, ok := tx.large[i]; ok {
			data = envelope
		}
		if len(packed) > 0 && len(packed)+len(data) > maxPublished {
			j.tell(ctx, tx, contract.EventSubject, packed)
			packed = nil
		}
		packed = contract.PackEvents(packed, data)
		if row.Type == cancelRequested {
			cancelled = append(cancelled, row.TurnID)
		}
	}
	j.tell(ctx, tx, contract.EventSubject, packed)
	for _, turn := range cancelled {
		j.tell(ctx, tx, contract.CancelSubject, []byte(turn))
	}
}

func (j *Journal) tell(ctx context.Context, tx *Tx, subject func(tenant, session string) string, data []byte) {
	if err := j.bus.Publish(subject(tx.Session.Tenant, tx.Session.ID), data); err != nil {
		j.log.DebugContext(ctx, "events not published on the bus", "session_id", tx.Session.ID, "error", err)
	}
}
