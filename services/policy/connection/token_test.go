package connection_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/policy/connection"
	"github.com/windlass-dev/windlass/services/policy/connection/store"
)

func token(t *testing.T, c *connection.Connections, w connection.Wanted) connection.Token {
	t.Helper()
	got, err := c.Token(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// old makes the access token of a connection expire.
func old(t *testing.T, w *world, subject string) {
	t.Helper()
	err := w.db.Write(t.Context(), func(tx sqldb.Tx) error {
		return sqldb.ExecOne(t.Context(), tx, `UPDATE connections SET expires_us = 1 WHERE subject = $1 AND source_id = $2`,
			subject, w.login.SourceID)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func own(t *testing.T, w *world) {
	connect(t, w, "dev:alice")
	connect(t, w, "dev:bob")
	a, b := token(t, w.a, wanted(w, "dev:alice")), token(t, w.b, wanted(w, "dev:bob"))
	if a.Access == b.Access || a.Access == "" || a.Version != 1 {
		t.Errorf("alice and bob have %+v and %+v", a.Version, b.Version)
	}
	for _, key := range []store.Key{
		{Tenant: "default", Subject: "dev:carol", SourceID: w.login.SourceID},
		{Tenant: "acme", Subject: "dev:alice", SourceID: w.login.SourceID},
		{Tenant: "default", Subject: "dev:alice", SourceID: "src_other"},
	} {
		_, err := w.a.Token(t.Context(), connection.Wanted{Key: key, Source: "own", Target: "target-1"})
		f := fault.From(err)
		if fault.CodeOf(err) != "authorization_required" || f.Details["kind"] != "connection" || f.Details["source"] != "own" ||
			f.Details["connect_url"] == "" {
			t.Errorf("%+v got %v with %v", key, err, f.Details)
		}
	}
	// A ciphertext in another user's row cannot be opened there.
	err := w.db.Write(t.Context(), func(tx sqldb.Tx) error {
		return sqldb.ExecOne(t.Context(), tx, `UPDATE connections SET sealed = (SELECT sealed FROM connections s WHERE s.subject = $1
			AND s.source_id = $3) WHERE subject = $2 AND source_id = $3`, "dev:alice", "dev:bob", w.login.SourceID)
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := w.a.Token(t.Context(), wanted(w, "dev:bob")); err == nil {
		t.Errorf("bob has version %d of alice's token", got.Version)
	}
	if _, err := w.a.Delete(t.Context(), "default", "dev:bob", "own"); err != nil { // what cannot be decrypted can be deleted
		t.Error(err)
	}
	if len(w.notice) != 2 || w.notice[0] != "default dev:alice own" {
		t.Errorf("notified of %v", w.notice)
	}
}

func rotation(t *testing.T, w *world) {
	connect(t, w, "dev:alice")
	before := w.idp.TokenRequests()
	for round := range 5 {
		old(t, w, "dev:alice")
		var all sync.WaitGroup
		seen := make([]connection.Token, 16)
		for i := range seen {
			c := []*connection.Connections{w.a, w.b}[i%2]
			all.Go(func() {
				got, err := c.Token(t.Context(), wanted(w, "dev:alice"))
				if err != nil {
					t.Error(err)
				}
				seen[i] = got
			})
		}
		all.Wait()
		for _, s := range seen {
			if s != seen[0] || s.Version != uint32(round+2) {
				t.Errorf("round %d: version %d and %d", round, s.Version, seen[0].Version)
			}
		}
	}
	if n := w.idp.TokenRequests() - before; n != 5 || w.idp.Reused() != 0 {
		t.Errorf("5 refreshes made %d requests, %d with a used token", n, w.idp.Reused())
	}
}

func refused(t *testing.T, w *world) {
	connect(t, w, "dev:alice")
	want := wanted(w, "dev:alice")
	want.Refused = 1
	if got := token(t, w.a, want); got.Version != 2 {
		t.Errorf("version %d instead of the refused 1", got.Version)
	}
	if got := token(t, w.b, want); got.Version != 2 { // it has been replaced
		t.Errorf("version %d after 1 was refused again", got.Version)
	}
	w.idp.End("dev:alice")
	old(t, w, "dev:alice")
	for _, c := range []*connection.Connections{w.a, w.b} {
		if _, err := c.Token(t.Context(), wanted(w, "dev:alice")); fault.CodeOf(err) != "authorization_required" {
			t.Errorf("after the login ended: %v", err)
		}
	}
	have, err := w.a.Get(t.Context(), "default", "dev:alice", "refused")
	if err != nil || !have.Ended {
		t.Errorf("connection %+v, %v", have.Key, err)
	}
	connect(t, w, "dev:alice")
	if got := token(t, w.a, wanted(w, "dev:alice")); got.Version != 3 {
		t.Errorf("connected again with version %d", got.Version)
	}
	w.idp.NoRefresh = true
	connect(t, w, "dev:alice")
	old(t, w, "dev:alice")
	if _, err := w.a.Token(t.Context(), wanted(w, "dev:alice")); fault.CodeOf(err) != "authorization_required" {
		t.Errorf("without a refresh token: %v", err)
	}
}

func away(t *testing.T, w *world) {
	connect(t, w, "dev:alice")
	old(t, w, "dev:alice")
	var down atomic.Bool
	down.Store(true)
	w.idp.TokenGate = func() {
		if down.Load() {
			panic(http.ErrAbortHandler) // closes the connection
		}
	}
	if _, err := w.a.Token(t.Context(), wanted(w, "dev:alice")); fault.CodeOf(err) != "tool_unavailable" {
		t.Errorf("while the server was away: %v", err)
	}
	down.Store(false)
	if got := token(t, w.b, wanted(w, "dev:alice")); got.Version != 2 {
		t.Errorf("version %d", got.Version)
	}
}

func moved(t *testing.T, w *world) {
	connect(t, w, "dev:alice")
	want := wanted(w, "dev:alice")
	want.Target = "target-2"
	if _, err := w.a.Token(t.Context(), want); fault.CodeOf(err) != "authorization_required" {
		t.Errorf("the changed source got a token: %v", err)
	}
	w.login.Target = "target-2"
	connect(t, w, "dev:alice")
	token(t, w.a, want)
}

func deleted(t *testing.T, w *world) {
	connect(t, w, "dev:alice")
	have := token(t, w.a, wanted(w, "dev:alice"))
	revoked, err := w.b.Delete(t.Context(), "default", "dev:alice", "deleted")
	if err != nil || !revoked || len(w.idp.Revoked()) != 2 || w.idp.Revoked()[1] != have.Access {
		t.Errorf("revoked %t, %d tokens, %v", revoked, len(w.idp.Revoked()), err)
	}
	if _, err := w.a.Token(t.Context(), wanted(w, "dev:alice")); fault.CodeOf(err) != "authorization_required" {
		t.Errorf("after it was deleted: %v", err)
	}
	if _, err := w.a.Delete(t.Context(), "default", "dev:alice", "deleted"); fault.CodeOf(err) != "not_found" {
		t.Errorf("deleted twice: %v", err)
	}
	list, err := w.a.List(t.Context(), "default", "dev:alice", store.After{Source: "crm"}, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if c.Source == "deleted" || c.Subject != "dev:alice" {
			t.Errorf("listed %+v", c.Key)
		}
	}
}

func rekeyed(t *testing.T, w *world) {
	connect(t, w, "dev:alice")
	open := begin(t, w, "dev:bob").consented(t, w)
	before := token(t, w.b, wanted(w, "dev:alice"))
	if _, _, err := w.va.Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := token(t, w.b, wanted(w, "dev:alice")); after != before {
		t.Error("another token after the keys were rotated")
	}
	if _, err := w.b.Complete(t.Context(), open.response()); err != nil {
		t.Error(err)
	}
	fresh, _ := w.replica(t)
	token(t, fresh, wanted(w, "dev:bob"))
}

func registered(t *testing.T, w *world) {
	w.login.Stored.ClientID = ""
	first, second := begin(t, w, "dev:alice"), begin(t, w, "dev:bob")
	if first.attempt.Login.ClientID == "" || first.attempt.Login.ClientID != second.attempt.Login.ClientID {
		t.Errorf("clients %q and %q", first.attempt.Login.ClientID, second.attempt.Login.ClientID)
	}
	connect(t, w, "dev:alice")
	old(t, w, "dev:alice")
	token(t, w.b, wanted(w, "dev:alice"))
	w.idp.TakesDocuments = true
	if id := begin(t, w, "dev:alice").attempt.Login.ClientID; id != gatewayURL+connection.ClientPath {
		t.Errorf("client %q at a server that takes documents", id)
	}
}

func unknown(t *testing.T, w *world) {
	w.login.Stored.ClientID = ""
	connect(t, w, "dev:alice")
	open := begin(t, w, "dev:bob").consented(t, w)
	first := open.attempt.Login.ClientID
	w.idp.Forget()
	if _, err := w.b.Complete(t.Context(), open.response()); err == nil || !strings.Contains(err.Error(), "does not know the mesh any more") {
		t.Errorf("a login with a forgotten client: %v", err)
	}
	connect(t, w, "dev:bob")
	token(t, w.a, wanted(w, "dev:bob"))
	old(t, w, "dev:alice") // whose tokens the first client got: a late refresh must not delete the second
	if _, err := w.b.Token(t.Context(), wanted(w, "dev:alice")); fault.CodeOf(err) != "authorization_required" {
		t.Errorf("a refresh with a forgotten client: %v", err)
	}
	third := begin(t, w, "dev:alice")
	second, err := w.a.Get(t.Context(), "default", "dev:bob", w.login.Source)
	if id := third.attempt.Login.ClientID; err != nil || id == first || id != second.Login.ClientID {
		t.Errorf("clients %q, %q and %q: %v", first, second.Login.ClientID, id, err)
	}
	w.login.Stored.ClientID = "mesh" // what an operator registered is never forgotten by the mesh
	connect(t, w, "dev:alice")
}

func bounded(t *testing.T, w *world) {
	for range 20 {
		begin(t, w, "dev:eve")
	}
	if _, _, err := w.a.Begin(t.Context(), "default", "dev:eve", "bounded"); fault.CodeOf(err) != "rate_limited" {
		t.Errorf("attempt 21: %v", err)
	}
	begin(t, w, "dev:alice")
}
