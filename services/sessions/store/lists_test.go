package store_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Values of windlass.turn.v1.TurnStatus.
const running, completed, failed = 2, 3, 4

// lists are first and further pages of turns and sessions, with the index that each must use and how much of it the conditions fix.
var lists = []struct {
	name, sqlite string
	filter       interface{ Statement() (string, []any) }
}{
	{"turns", "turns_by_time (tenant=?)", store.TurnFilter{}},
	{
		"turns, page two", "turns_by_time (tenant=? AND (create_us,id)<(?,?))",
		store.TurnFilter{Page: store.Page{After: sqldb.Time(5000), AfterID: "trn_5000"}},
	},
	{"the oldest turns", "turns_by_time (tenant=?)", store.TurnFilter{Page: store.Page{OldestFirst: true}}},
	{
		"the oldest turns, page two", "turns_by_time (tenant=? AND (create_us,id)>(?,?))",
		store.TurnFilter{Page: store.Page{OldestFirst: true, After: sqldb.Time(5000), AfterID: "trn_5000"}},
	},
	{
		"turns of a time", "turns_by_time (tenant=? AND create_us>? AND create_us<?)",
		store.TurnFilter{Page: store.Page{Since: sqldb.Time(10), Until: sqldb.Time(5000)}},
	},
	{"turns of a subject", "turns_by_owner (tenant=? AND owner=?)", store.TurnFilter{Subject: "rare"}},
	{
		"turns of a subject, page two", "turns_by_owner (tenant=? AND owner=? AND (create_us,id)<(?,?))",
		store.TurnFilter{Subject: "ann", Page: store.Page{After: sqldb.Time(5000), AfterID: "trn_5000"}},
	},
	{"running turns", "turns_unended_by_status (tenant=? AND status=?)", store.TurnFilter{Status: running}},
	{"failed turns", "turns_ended_by_status (tenant=? AND status=?)", store.TurnFilter{Status: failed, Ended: true}},
	{"completed turns", "turns_ended_by_status (tenant=? AND status=?)", store.TurnFilter{Status: completed, Ended: true}},
	{
		"completed turns of a subject", "turns_ended_by_owner (tenant=? AND owner=? AND status=?)",
		store.TurnFilter{Subject: "ann", Status: completed, Ended: true},
	},
	{
		"failed turns of a subject", "turns_ended_by_owner (tenant=? AND owner=? AND status=?)",
		store.TurnFilter{Subject: "ann", Status: failed, Ended: true},
	},
	{
		"completed turns of a session", "turns_by_session (tenant=? AND session_id=?)",
		store.TurnFilter{SessionID: "ses_7", Subject: "ann", Status: completed, Ended: true},
	},
	{"sessions", "sessions_by_time (tenant=?)", store.SessionFilter{}},
	{"sessions, page two", "sessions_by_time (tenant=? AND (create_us,id)<(?,?))", store.SessionFilter{
		Page: store.Page{After: sqldb.Time(5000), AfterID: "ses_5000"},
	}},
	{"sessions of a subject", "sessions_by_subject (tenant=? AND subject=?)", store.SessionFilter{Subject: "rare"}},
	{"sessions with an agent", "sessions_by_agent (tenant=? AND agent_id=?)", store.SessionFilter{AgentID: "rare"}},
	{
		"sessions of a subject with an agent", "sessions_by_subject_agent (tenant=? AND subject=? AND agent_id=?)",
		store.SessionFilter{Subject: "ann", AgentID: "rare"},
	},
}

// statement is one of lists for the tenant of the test, with a page of 51.
func statement(f interface{ Statement() (string, []any) }) (string, []any) {
	switch v := f.(type) {
	case store.TurnFilter:
		v.Tenant, v.Limit = "default", 51
		return v.Statement()
	case store.SessionFilter:
		v.Tenant, v.Limit = "default", 51
		return v.Statement()
	}
	panic("no such filter")
}

// deleted are the steps that leave out the turns of deleted sessions.
var deleted = []string{
	"LIST SUBQUERY 1", "SEARCH sessions USING COVERING INDEX sessions_deleted (delete_us>?)", "CREATE BLOOM FILTER",
}

func TestListsUseAnIndexOnSQLite(t *testing.T) {
	db := openDB(t, tables.SQLite(t))
	for _, l := range lists {
		query, args := statement(l.filter)
		steps := explain(t, db, "EXPLAIN QUERY PLAN "+query, args, func(s sqldb.Scanner) (text string, err error) {
			var id, parent, unused int
			err = s.Scan(&id, &parent, &unused, &text)
			return text, err
		})
		if steps = slices.DeleteFunc(steps, func(s string) bool {
			return s == "USE TEMP B-TREE FOR ORDER BY" && strings.Contains(l.name, "of a session") || slices.Contains(deleted, s)
		}); len(steps) != 1 || !strings.HasSuffix(steps[0], " USING INDEX "+l.sqlite) {
			t.Errorf("%s: %q, want index %s", l.name, steps, l.sqlite)
		}
	}
}

var removed = regexp.MustCompile(`Rows Removed by Filter: (\d+)`)

// TestListsUseAnIndexOnPostgres has 20,000 turns: nearly all completed and of one subject.
func TestListsUseAnIndexOnPostgres(t *testing.T) {
	db := openDB(t, tables.Postgres(t))
	for _, fill := range []string{
		`INSERT INTO sessions (tenant, id, agent_id, subject, title, labels, last_seq, open_seq, active_turn_id, create_us, update_us)
			SELECT 'default', 'ses_' || i, CASE WHEN i % 5000 = 1 THEN 'rare' ELSE 'a' END, CASE WHEN i % 5000 = 2 THEN 'rare' ELSE 'ann' END,
			'', '', 0, 0, '', i, i FROM generate_series(1, 20000) AS i`,
		`INSERT INTO turns (tenant, id, session_id, agent_id, subject, owner, status, cancel_requested, model, blueprint_revision,
			deadline_us, input_seq,
			first_seq, last_seq, dispatched_us, check_us, restarts, create_us, start_us, end_us, usage_data, end_data)
			SELECT 'default', 'trn_' || i, 'ses_' || i, 'a', 'ann', CASE WHEN i % 5000 = 2 THEN 'rare' ELSE 'ann' END,
			CASE WHEN i % 5000 = 3 THEN 4 WHEN i % 5000 = 4 THEN 2 ELSE 3 END, 0, '', 0, 0, 0, 1, 0, 0, 0, 0, i, i,
			CASE WHEN i % 5000 = 4 THEN 0 ELSE i END, '', '' FROM generate_series(1, 20000) AS i`,
		"ANALYZE sessions", "ANALYZE turns",
	} {
		if err := db.Write(t.Context(), func(tx sqldb.Tx) error {
			_, err := sqldb.Exec(t.Context(), tx, fill)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range lists {
		query, args := statement(l.filter)
		plan := strings.Join(explain(t, db, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) "+query, args, sqldb.Column[string]), "\n")
		if strings.Contains(plan, "Seq Scan") {
			t.Errorf("%s goes through the table:\n%s", l.name, plan)
		}
		for _, n := range removed.FindAllStringSubmatch(plan, -1) {
			if rows, err := strconv.Atoi(n[1]); err != nil || rows > 100 {
				t.Errorf("%s reads %s rows in vain:\n%s", l.name, n[1], plan)
			}
		}
	}
}

func explain(t *testing.T, db *sqldb.DB, query string, args []any, scan func(sqldb.Scanner) (string, error)) []string {
	t.Helper()
	steps, err := sqldb.All(t.Context(), db.Reader(), scan, query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return steps
}

// openDB opens a database with the tables of the store.
func openDB(t *testing.T, url string) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: url, Schema: "sessions"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := store.Open(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return db
}
