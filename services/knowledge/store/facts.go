package store

import (
	"context"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// States of a fact.
const (
	// FactActive is used in turns while it is valid.
	FactActive = "active"
	// FactProposed waits for its user to accept it.
	FactProposed = "proposed"
	// FactSuperseded was replaced by a newer one.
	FactSuperseded = "superseded"
	// FactRejected was refused by its user.
	FactRejected = "rejected"
)

// Trust says whose word a fact is. More is trusted more.
type Trust int

// Levels of trust.
const (
	// OfTools means that a model had read results of tools or documents.
	OfTools Trust = iota + 1
	// OfModel means that a model stated it after reading only its user.
	OfModel
	// OfUser means that the user wrote or accepted it.
	OfUser
)

// Owner is the user whom facts are about.
type Owner struct{ Tenant, Subject string }

// Fact is one thing that is remembered about a user.
type Fact struct {
	// ID names it among the facts of its owner; AgentID is the agent that may use it, "" for all.
	ID, AgentID string
	// Entity, Attribute and Value are what it states, Text the sentence. Without an attribute it is a note.
	Entity, Attribute, Value, Text string
	// ValidFrom and ValidTo say when it is true; a zero ValidTo is no end.
	ValidFrom, ValidTo time.Time
	// State is one of the states, Trust one of the levels.
	State string
	Trust Trust
	// SupersededBy is the fact that replaced it, "" for none.
	SupersededBy string
	// SessionID, TurnID and CallID are where a model stated it; Tainted: it had read what is not trusted.
	SessionID, TurnID, CallID string
	Tainted                   bool
	// CreateTime is when it was stored, UpdateTime when its state was last changed.
	CreateTime, UpdateTime time.Time
}

// Memory is what is remembered about a user.
type Memory struct {
	// Off means that the user has switched memory off.
	Off bool
	// Facts are all facts, newest first.
	Facts []Fact
	// Marks are the keyed hashes of what was forgotten.
	Marks map[string]bool
}

// FactChange is a change of a user's memory.
type FactChange struct {
	// Add, Update and Erase are rows to add, to replace and to erase by id.
	Add, Update []Fact
	Erase       []string
	// Mark and Unmark are keyed hashes of what is forgotten, and of what may be learned again.
	Mark, Unmark []string
	// Off switches memory off or on; nil leaves it.
	Off *bool
}

// factRows are the facts.
type factRows struct{ base }

const factColumns = "id, agent, entity, attribute, value, text, valid_from_us, valid_to_us, state, trust, superseded_by, session_id, " +
	"turn_id, call_id, tainted, create_us, update_us"

var (
	insertFacts = sqldb.Insert("facts", "tenant, subject, "+factColumns)
	replaceFact = insertFacts + ` ON CONFLICT (tenant, subject, id) DO UPDATE SET valid_from_us = excluded.valid_from_us,
		valid_to_us = excluded.valid_to_us, state = excluded.state, trust = excluded.trust, superseded_by = excluded.superseded_by,
		update_us = excluded.update_us`
	insertOwner = sqldb.Insert("memory_owners", "tenant, subject, off") + " ON CONFLICT (tenant, subject) DO NOTHING"
	insertMarks = sqldb.Insert("fact_marks", "tenant, subject, mark, at_us") + " ON CONFLICT (tenant, subject, mark) DO NOTHING"
)

func scanFact(s sqldb.Scanner) (f Fact, err error) {
	var to int64
	err = s.Scan(&f.ID, &f.AgentID, &f.Entity, &f.Attribute, &f.Value, &f.Text, sqldb.TimeColumn(&f.ValidFrom), &to, &f.State, &f.Trust,
		&f.SupersededBy, &f.SessionID, &f.TurnID, &f.CallID, &f.Tainted, sqldb.TimeColumn(&f.CreateTime), sqldb.TimeColumn(&f.UpdateTime))
	if to != 0 {
		f.ValidTo = sqldb.Time(to)
	}
	return f, err
}

func (f Fact) row(o Owner) []any {
	var to int64
	if !f.ValidTo.IsZero() {
		to = sqldb.Micros(f.ValidTo)
	}
	return []any{
		o.Tenant, o.Subject, f.ID, f.AgentID, f.Entity, f.Attribute, f.Value, f.Text, sqldb.Micros(f.ValidFrom), to, f.State, f.Trust,
		f.SupersededBy, f.SessionID, f.TurnID, f.CallID, f.Tainted, sqldb.Micros(f.CreateTime), sqldb.Micros(f.UpdateTime),
	}
}

// Memory reads what is remembered about a user, without the marks.
func (s factRows) Memory(ctx context.Context, o Owner) (m Memory, err error) {
	err = s.db.Read(ctx, func(q sqldb.Querier) error {
		m, err = readMemory(ctx, q, o, "")
		return err
	})
	if err != nil {
		return Memory{}, fmt.Errorf("read memory: %w", err)
	}
	return m, nil
}

// ChangeMemory applies what change returns for the present memory of a user. Changes of one user's memory run one after the other. change
// may run again.
func (s factRows) ChangeMemory(ctx context.Context, o Owner, change func(Memory) (FactChange, error)) error {
	err := s.db.Write(ctx, func(tx sqldb.Tx) error {
		if _, err := sqldb.Exec(ctx, tx, insertOwner, o.Tenant, o.Subject, false); err != nil {
			return err
		}
		m, err := readMemory(ctx, tx, o, s.db.ForUpdate())
		if err != nil {
			return err
		}
		marks, err := sqldb.All(ctx, tx, sqldb.Column[string], "SELECT mark FROM fact_marks WHERE tenant = $1 AND subject = $2", o.Tenant,
			o.Subject)
		if err != nil {
			return err
		}
		m.Marks = make(map[string]bool, len(marks))
		for _, mark := range marks {
			m.Marks[mark] = true
		}
		c, err := change(m)
		if err != nil {
			return err
		}
		return s.apply(ctx, tx, o, c)
	})
	if err != nil {
		return fmt.Errorf("change memory: %w", err)
	}
	return nil
}

// readMemory reads settings and facts. lock is the clause that locks the settings, "" for none.
func readMemory(ctx context.Context, q sqldb.Querier, o Owner, lock string) (m Memory, err error) {
	off, err := sqldb.All(ctx, q, sqldb.Column[bool], "SELECT off FROM memory_owners WHERE tenant = $1 AND subject = $2"+lock, o.Tenant,
		o.Subject)
	if err != nil || len(off) == 0 { // without the row there never was a fact
		return m, err
	}
	m.Off = off[0]
	m.Facts, err = sqldb.All(ctx, q, scanFact, "SELECT "+factColumns+` FROM facts
		WHERE tenant = $1 AND subject = $2 ORDER BY id DESC`, o.Tenant, o.Subject)
	return m, err
}

func (s factRows) apply(ctx context.Context, tx sqldb.Tx, o Owner, c FactChange) error {
	for _, f := range c.Add {
		if err := sqldb.ExecOne(ctx, tx, insertFacts, f.row(o)...); err != nil {
			return err
		}
	}
	for _, f := range c.Update {
		if err := sqldb.ExecOne(ctx, tx, replaceFact, f.row(o)...); err != nil {
			return err
		}
	}
	for _, id := range c.Erase {
		if _, err := sqldb.Exec(ctx, tx, "DELETE FROM facts WHERE tenant = $1 AND subject = $2 AND id = $3", o.Tenant, o.Subject,
			id); err != nil {
			return err
		}
	}
	for _, mark := range c.Mark {
		if _, err := sqldb.Exec(ctx, tx, insertMarks, o.Tenant, o.Subject, mark, sqldb.Micros(s.Now())); err != nil {
			return err
		}
	}
	for _, mark := range c.Unmark {
		if _, err := sqldb.Exec(ctx, tx, "DELETE FROM fact_marks WHERE tenant = $1 AND subject = $2 AND mark = $3", o.Tenant, o.Subject,
			mark); err != nil {
			return err
		}
	}
	if c.Off == nil {
		return nil
	}
	return sqldb.ExecOne(ctx, tx, "UPDATE memory_owners SET off = $1 WHERE tenant = $2 AND subject = $3", *c.Off, o.Tenant, o.Subject)
}
