// Package store stores policy decisions.
package store

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/libs/batch"
	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/tombstone"
	"github.com/windlass-dev/windlass/services/policy/audit/trail"
)

// Kinds of decisions.
const (
	// Tool is a decision on a tool call.
	Tool = "tool"
	// Permission is a refused RPC.
	Permission = "permission"
	// Secret is a use or a change of a stored secret.
	Secret = "secret"
)

// ErrNotFound means that there is no such decision in the tenant.
var ErrNotFound = sqldb.ErrNotFound

// Decision is one recorded decision.
type Decision struct {
	// Tenant and ID identify it.
	Tenant, ID string
	// Time is when it was made, to the microsecond.
	Time time.Time
	// Subject is the subject of the request, Actor the role of the mesh that asked.
	Subject, Actor string
	// Kind is Tool or Permission; Resource is the tool or permission, Method the refused RPC.
	Kind, Resource, Method string
	// Allowed is the decision, Rule the rule that made it, Reason the text for people.
	Allowed      bool
	Rule, Reason string
	// Source, Effect, ArgumentsHash, TurnID and CallID describe a tool call.
	Source, Effect, ArgumentsHash, TurnID, CallID string
	// PolicyRevision is the revision of the tenant's policies, Policies the names of those that decided, separated by commas.
	PolicyRevision uint64
	Policies       string
	// InputHash identifies the principal as policies saw it; Latency is how long the decision took, to the microsecond.
	InputHash string
	Latency   time.Duration
}

// Encode returns the decision as its caller keeps it until it is stored, and Decode reads that.
func (d *Decision) Encode() ([]byte, error) { return json.Marshal(d) }

// Decode reads an encoded decision.
func (d *Decision) Decode(record []byte) error { return json.Unmarshal(record, d) }

// Input is a principal as policies saw it.
type Input struct {
	// Hash identifies it in the tenant.
	Hash string
	// Subject is its subject, Principal the encoded principal.
	Subject   string
	Principal []byte
}

// Cursor is a position in the list.
type Cursor struct {
	// Micros is the decision's time.
	Micros int64 `json:"t"`
	// ID is its id.
	ID string `json:"i"`
}

// Filter narrows the list.
type Filter struct {
	// TurnID selects one turn's decisions; empty = all.
	TurnID string
	// CallID selects the decisions about a call; empty = all.
	CallID string
	// DeniedOnly selects denials.
	DeniedOnly bool
	// Since and Until select a range of times, without Until; zero = no limit.
	Since, Until time.Time
}

// Store stores decisions. Errors of the database are those of libs/sqldb.
type Store interface {
	PolicyStore
	// EventLog returns the table of the domain events.
	EventLog() *eventlog.Table
	// Add commits a decision before it returns, with its input unless that is nil.
	Add(ctx context.Context, d Decision, in *Input) error
	// AddLater commits a decision, whose input is stored, within a moment; what reads decisions through this store waits for it. A crash
	// before that loses it. It blocks while too many wait, and returns an error only if ctx ends.
	AddLater(ctx context.Context, d Decision) error
	// AddMissing has decisions on disk before it returns. Those that are stored already are left as they are.
	AddMissing(ctx context.Context, all []Decision) error
	// Flush waits until the decisions of AddLater are committed, or until ctx ends.
	Flush(ctx context.Context) error
	// Inputs returns the stored inputs with these hashes, by hash.
	Inputs(ctx context.Context, tenant string, hashes []string) (map[string]Input, error)
	// PruneInputs deletes inputs that were last used before a time.
	PruneInputs(ctx context.Context, before time.Time) error
	// LastInput returns the subject's input that was added last; ErrNotFound.
	LastInput(ctx context.Context, tenant, subject string) (Input, error)
	// Get reads a decision; ErrNotFound if the tenant has none with this id.
	Get(ctx context.Context, tenant, id string) (Decision, error)
	// Forget erases turn, call and arguments hash from the decisions of turns, and what links audit records to them.
	Forget(ctx context.Context, tenant string, turns []string) error
	// List returns at most limit decisions after the cursor, newest first; the zero cursor is the start.
	List(ctx context.Context, tenant string, f Filter, after Cursor, limit int) ([]Decision, error)
}

//go:embed migrations/*.sql
var migrations embed.FS

// Migrate applies pending migrations.
func Migrate(ctx context.Context, db *sqldb.DB) error {
	return db.Migrate(ctx, migrations, "migrations")
}

// New returns the store in a database that Migrate has prepared. The trail gets the decisions and the changes of policies.
func New(db *sqldb.DB, t *trail.Trail) Store {
	s := sqlStore{
		db: db, trail: t, events: eventlog.NewTable(db, "policy"), revisions: newRevisions(db),
		forgotten: tombstone.Of(db, "decisions_forgotten"),
	}
	s.later = batch.New(batch.Config[Decision]{
		Write: func(ctx context.Context, all []Decision) error {
			faultpoint.Hit(faultpoint.PolicyRecording)
			return s.addLate(sqldb.Untracked(ctx), db.Write, all, AddIn)
		},
		Permanent: sqldb.IsUnique,
		Failed: func(ctx context.Context, d Decision, err error) {
			if sqldb.IsUnique(err) { // AddMissing was faster
				return
			}
			db.Log().ErrorContext(ctx, "decision could not be recorded", "decision_id", d.ID, "resource", d.Resource, "error", err)
		},
	})
	return s
}

type sqlStore struct {
	db        *sqldb.DB
	trail     *trail.Trail
	events    *eventlog.Table
	later     *batch.Writer[Decision]
	revisions *sqldb.Fresh[string, uint64]
	forgotten tombstone.Table
}

const columns = `tenant, id, created_us, subject, kind, resource, method, allowed, rule, reason, source, effect, arguments_hash, ` +
	`turn_id, call_id, policy_revision, policies, input_hash, latency_us`

var (
	insertDecisions = sqldb.NewInserts("decisions", columns+", actor, audited")
	insertMissing   = sqldb.Insert("decisions", columns+", actor, audited") + " ON CONFLICT (tenant, id) DO NOTHING"
)

func (s sqlStore) EventLog() *eventlog.Table { return s.events }

func (s sqlStore) Add(ctx context.Context, d Decision, in *Input) error {
	return s.add(ctx, s.db.Write, func(tx sqldb.Tx) error {
		if in != nil {
			if err := addInput(ctx, tx, d, in); err != nil {
				return err
			}
		}
		return AddIn(ctx, tx, d)
	})
}

// AddIn stores decisions in the transaction of what they are about. Notify the trail when it is committed.
func AddIn(ctx context.Context, tx sqldb.Tx, all ...Decision) error {
	rows := make([][]any, len(all))
	for i, d := range all {
		rows[i] = d.row()
	}
	return insertDecisions.Exec(ctx, tx, rows)
}

// row returns the values of a new row, which is not in the audit trail yet.
func (d Decision) row() []any {
	return []any{
		d.Tenant, d.ID, sqldb.Micros(d.Time), d.Subject, d.Kind, d.Resource, d.Method, d.Allowed, d.Rule, d.Reason,
		d.Source, d.Effect, d.ArgumentsHash, d.TurnID, d.CallID, int64(d.PolicyRevision), d.Policies, d.InputHash,
		d.Latency.Microseconds(), d.Actor, false,
	}
}

// addLate adds decisions that were made before: those of turns that were erased meanwhile as Forget leaves them.
func (s sqlStore) addLate(
	ctx context.Context, write writeFunc, all []Decision, add func(context.Context, sqldb.Tx, ...Decision) error,
) error {
	var turns []tombstone.ID
	for _, d := range all {
		if d.TurnID != "" {
			turns = append(turns, tombstone.ID{Tenant: d.Tenant, ID: d.TurnID})
		}
	}
	return s.add(ctx, write, func(tx sqldb.Tx) error {
		buried, err := s.forgotten.Buried(ctx, tx, turns)
		if err != nil {
			return err
		}
		rows := slices.Clone(all) // a write that fails is repeated
		for i := range rows {
			if d := &rows[i]; buried[tombstone.ID{Tenant: d.Tenant, ID: d.TurnID}] {
				d.TurnID, d.CallID, d.ArgumentsHash = "", "", ""
			}
		}
		return add(ctx, tx, rows...)
	})
}

func (s sqlStore) AddMissing(ctx context.Context, all []Decision) error {
	if err := s.Flush(ctx); err != nil {
		return err
	}
	return s.addLate(ctx, s.db.WriteDurable, all, addMissingIn)
}

// addMissingIn is AddIn for decisions that may be stored already.
func addMissingIn(ctx context.Context, tx sqldb.Tx, all ...Decision) error {
	for _, d := range all {
		if _, err := sqldb.Exec(ctx, tx, insertMissing, d.row()...); err != nil {
			return err
		}
	}
	return nil
}

type writeFunc func(ctx context.Context, f func(sqldb.Tx) error) error

// add adds decisions in a transaction of write.
func (s sqlStore) add(ctx context.Context, write writeFunc, f func(sqldb.Tx) error) error {
	err := write(ctx, f)
	if err != nil {
		return fmt.Errorf("record decision: %w", err)
	}
	s.trail.Added()
	return nil
}

func (s sqlStore) AddLater(ctx context.Context, d Decision) error {
	if err := s.later.Add(ctx, d); err != nil {
		return fmt.Errorf("record decision: %w", err)
	}
	return nil
}

func (s sqlStore) Flush(ctx context.Context) error {
	if err := s.later.Flush(ctx); err != nil {
		return fmt.Errorf("wait for decisions to be recorded: %w", err)
	}
	return nil
}

func (s sqlStore) Forget(ctx context.Context, tenant string, turns []string) error {
	if err := s.Flush(ctx); err != nil {
		return err
	}
	err := s.db.Write(ctx, func(tx sqldb.Tx) error {
		if err := s.forgotten.Bury(ctx, tx, tenant, turns); err != nil {
			return err
		}
		for _, turn := range turns {
			if _, err := sqldb.Exec(ctx, tx, `UPDATE decisions SET turn_id = '', call_id = '', arguments_hash = ''
				WHERE tenant = $1 AND turn_id <> '' AND turn_id = $2`, tenant, turn); err != nil {
				return err
			}
			if err := trail.Erase(ctx, tx, tenant, turn); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("forget decisions: %w", err)
	}
	return nil
}

func (s sqlStore) Get(ctx context.Context, tenant, id string) (Decision, error) {
	if err := s.Flush(ctx); err != nil {
		return Decision{}, err
	}
	return sqldb.One(ctx, s.db.Reader(), scan, `SELECT `+columns+` FROM decisions WHERE tenant = $1 AND id = $2`, tenant, id)
}

func (s sqlStore) List(ctx context.Context, tenant string, f Filter, after Cursor, limit int) ([]Decision, error) {
	if err := s.Flush(ctx); err != nil {
		return nil, err
	}
	query := `SELECT ` + columns + ` FROM decisions WHERE tenant = $1`
	args := []any{tenant}
	and := func(text string, values ...any) {
		places := make([]any, len(values))
		for i := range values {
			places[i] = len(args) + i + 1
		}
		query += fmt.Sprintf(" AND "+text, places...)
		args = append(args, values...)
	}
	if f.TurnID != "" {
		and("turn_id <> '' AND turn_id = $%d", f.TurnID) // the index has no others
	}
	if f.CallID != "" {
		and("call_id <> '' AND call_id = $%d", f.CallID)
	}
	if f.DeniedOnly {
		and("allowed = $%d", false)
	}
	if !f.Since.IsZero() {
		and("created_us >= $%d", sqldb.Micros(f.Since))
	}
	if !f.Until.IsZero() {
		and("created_us < $%d", sqldb.Micros(f.Until))
	}
	if after != (Cursor{}) {
		and("(created_us, id) < ($%d, $%d)", after.Micros, after.ID)
	}
	query += fmt.Sprintf(" ORDER BY created_us DESC, id DESC LIMIT $%d", len(args)+1)
	return sqldb.All(ctx, s.db.Reader(), scan, query, append(args, limit)...)
}

func scan(row sqldb.Scanner) (d Decision, err error) {
	var us, revision, latency int64
	err = row.Scan(&d.Tenant, &d.ID, &us, &d.Subject, &d.Kind, &d.Resource, &d.Method, &d.Allowed, &d.Rule, &d.Reason,
		&d.Source, &d.Effect, &d.ArgumentsHash, &d.TurnID, &d.CallID, &revision, &d.Policies, &d.InputHash, &latency)
	d.Time, d.PolicyRevision, d.Latency = sqldb.Time(us), uint64(revision), time.Duration(latency)*time.Microsecond
	return d, err
}
