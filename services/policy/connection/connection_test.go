package connection_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/keyset"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testpg"
	"github.com/windlass-dev/windlass/services/policy/connection"
	"github.com/windlass-dev/windlass/services/policy/connection/idptest"
	"github.com/windlass-dev/windlass/services/policy/connection/store"
	policystore "github.com/windlass-dev/windlass/services/policy/store"
	"github.com/windlass-dev/windlass/services/policy/vault"
)

func TestMain(m *testing.M) { testmain.Verify(testpg.Main{M: m}) }

func TestSQLite(t *testing.T) { suite(t, "sqlite:"+filepath.Join(t.TempDir(), "policy.db")) }

func TestPostgres(t *testing.T) { suite(t, testpg.URL(t)) }

const (
	gatewayURL = "https://windlass.example.com"
	redirect   = gatewayURL + connection.CallbackPath
)

// world is two replicas of policy on one database, with an authorization server.
type world struct {
	db    *sqldb.DB
	idp   *idptest.Server
	a, b  *connection.Connections
	va    *vault.Vault
	login connection.Login // what the source's definition says

	mu     sync.Mutex
	notice []string
}

// Login implements connection.Logins.
func (w *world) Login(_ context.Context, _, source string) (connection.Login, error) {
	if source != w.login.Source {
		return connection.Login{}, fault.NotFound("there is no source %q", source)
	}
	return w.login, nil
}

// Value implements connection.Secrets.
func (*world) Value(context.Context, string, string) (secret.Value, error) {
	return secret.Value{}, nil
}

// Connected implements connection.Notice.
func (w *world) Connected(_ context.Context, tenant, subject, source string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notice = append(w.notice, tenant+" "+subject+" "+source)
	return nil
}

var alice = connection.Browser{Known: true, Tenant: "default", Subject: "dev:alice"}

func wanted(w *world, subject string) connection.Wanted {
	return connection.Wanted{
		Key: store.Key{Tenant: "default", Subject: subject, SourceID: w.login.SourceID}, Source: w.login.Source, Target: w.login.Target,
	}
}

func newWorld(t *testing.T, db *sqldb.DB, source string) *world {
	t.Helper()
	idp := idptest.New(t, redirect)
	idp.Iss = idp.URL
	w := worldAt(db, idp, idp.URL, source)
	w.a, w.va = w.replica(t)
	w.b, _ = w.replica(t)
	return w
}

// worldAt is a world without replicas.
func worldAt(db *sqldb.DB, idp *idptest.Server, issuer, source string) *world {
	return &world{db: db, idp: idp, login: connection.Login{
		SourceID: "src_" + source, Source: source, Target: "target-1", Destination: "https://api.example.com", Wanted: true,
		Stored: store.Login{Issuer: issuer, ClientID: "mesh", Scopes: []string{"read", "write"}, Resource: "https://api.example.com"},
	}}
}

func (w *world) replica(t *testing.T) (*connection.Connections, *vault.Vault) {
	t.Helper()
	out, err := egress.New(egress.Config{Profile: egress.Local})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(out.CloseIdle)
	return w.replicaWith(t, out)
}

func (w *world) replicaWith(t *testing.T, out connection.Dialer) (*connection.Connections, *vault.Vault) {
	t.Helper()
	m, err := keyset.Derive("test", secret.New(strings.Repeat("m", keyset.MinSecret)))
	if err != nil {
		t.Fatal(err)
	}
	v := vault.New(w.db, m)
	c, err := connection.New(connection.Config{URL: gatewayURL}, connection.Deps{
		Store: store.New(w.db, v), Logins: w, Secrets: w, Egress: out, Notice: w, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, v
}

func suite(t *testing.T, address string) {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: address, Schema: "policy", MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := policystore.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	t.Run("S23: each step of the flow that is left out or changed is refused", func(t *testing.T) { s23(t, db) })
	t.Run("a connection is used by its user only", func(t *testing.T) { own(t, newWorld(t, db, "own")) })
	t.Run("two replicas spend a refresh token once", func(t *testing.T) { rotation(t, newWorld(t, db, "rotation")) })
	t.Run("a refused token is refreshed once, and an ended login is said to be", func(t *testing.T) { refused(t, newWorld(t, db, "refused")) })
	t.Run("a server that is away ends no login", func(t *testing.T) { away(t, newWorld(t, db, "away")) })
	t.Run("a changed source gets no tokens of before", func(t *testing.T) { moved(t, newWorld(t, db, "moved")) })
	t.Run("a deleted connection is revoked", func(t *testing.T) { deleted(t, newWorld(t, db, "deleted")) })
	t.Run("keys are rotated under connections", func(t *testing.T) { rekeyed(t, newWorld(t, db, "rekeyed")) })
	t.Run("a client registers itself once", func(t *testing.T) { registered(t, newWorld(t, db, "registered")) })
	t.Run("a client that the server forgot registers itself again", func(t *testing.T) { unknown(t, newWorld(t, db, "unknown")) })
	t.Run("a user is asked once for scopes that the source wants", func(t *testing.T) { stepUp(t, newWorld(t, db, "step-up")) })
	t.Run("scopes that are not granted are not asked for again", func(t *testing.T) { withheld(t, newWorld(t, db, "withheld")) })
	t.Run("open attempts are bounded", func(t *testing.T) { bounded(t, newWorld(t, db, "bounded")) })
}

// flow is an attempt up to the response of the authorization server.
type flow struct {
	attempt store.Attempt
	ticket  string
	went    connection.Consented
	answer  url.Values
}

func begin(t *testing.T, w *world, subject string) flow {
	t.Helper()
	a, address, err := w.a.Begin(t.Context(), "default", subject, w.login.Source)
	if err != nil {
		t.Fatal(err)
	}
	return flow{attempt: a, ticket: strings.TrimPrefix(address, gatewayURL+"/connect/")}
}

func browser(subject string) connection.Browser {
	return connection.Browser{Known: true, Tenant: "default", Subject: subject}
}

// consented goes on to the authorization server, and logs in there as a user.
func (f flow) consented(t *testing.T, w *world) flow {
	t.Helper()
	_, consent, err := w.a.Show(t.Context(), f.ticket, browser(f.attempt.Subject))
	if err != nil {
		t.Fatal(err)
	}
	if f.went, err = w.b.Decide(t.Context(), f.ticket, browser(f.attempt.Subject), consent, true); err != nil {
		t.Fatal(err)
	}
	f.answer = w.idp.Approve(t, f.went.URL, f.attempt.Subject)
	return f
}

// response is what an honest browser brings back.
func (f flow) response() connection.Response {
	r := connection.Response{
		State: f.answer.Get("state"), Code: f.answer.Get("code"), Binding: f.went.Binding, Browser: browser(f.attempt.Subject),
	}
	if f.answer.Has("iss") {
		iss := f.answer.Get("iss")
		r.Issuer = &iss
	}
	return r
}

func connect(t *testing.T, w *world, subject string) {
	t.Helper()
	f := begin(t, w, subject).consented(t, w)
	if _, err := w.b.Complete(t.Context(), f.response()); err != nil {
		t.Fatal(err)
	}
}

func s23(t *testing.T, db *sqldb.DB) {
	w := newWorld(t, db, "crm")
	other := "https://evil.example.com"
	expire := func(f flow) {
		err := db.Write(t.Context(), func(tx sqldb.Tx) error {
			return sqldb.ExecOne(t.Context(), tx, `UPDATE connection_attempts SET expires_us = 1 WHERE id = $1`, f.attempt.ID)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	complete := func(f flow, change func(*connection.Response)) error {
		r := f.response()
		change(&r)
		_, err := w.a.Complete(t.Context(), r)
		return err
	}
	for name, attack := range map[string]func(t *testing.T) error{
		"no consent page was shown": func(t *testing.T) error {
			_, err := w.a.Decide(t.Context(), begin(t, w, "dev:alice").ticket, alice, "", true)
			return err
		},
		"the consent is that of another page": func(t *testing.T) error {
			f, g := begin(t, w, "dev:alice"), begin(t, w, "dev:alice")
			_, _, err := w.a.Show(t.Context(), f.ticket, alice)
			if err != nil {
				t.Fatal(err)
			}
			_, consent, err := w.a.Show(t.Context(), g.ticket, alice)
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.a.Decide(t.Context(), f.ticket, alice, consent, true)
			return err
		},
		"the user refuses, and the address is opened again": func(t *testing.T) error {
			f := begin(t, w, "dev:alice")
			_, consent, err := w.a.Show(t.Context(), f.ticket, alice)
			if err != nil {
				t.Fatal(err)
			}
			if went, err := w.a.Decide(t.Context(), f.ticket, alice, consent, false); err != nil || went.URL != "" {
				t.Fatalf("refused: %+v, %v", went, err)
			}
			_, _, err = w.a.Show(t.Context(), f.ticket, alice)
			return err
		},
		"consent is given twice": func(t *testing.T) error {
			f := begin(t, w, "dev:alice")
			_, consent, err := w.a.Show(t.Context(), f.ticket, alice)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.a.Decide(t.Context(), f.ticket, alice, consent, true); err != nil {
				t.Fatal(err)
			}
			_, err = w.b.Decide(t.Context(), f.ticket, alice, consent, true)
			return err
		},
		"another user opens the address": func(t *testing.T) error {
			_, _, err := w.a.Show(t.Context(), begin(t, w, "dev:alice").ticket, browser("dev:bob"))
			return err
		},
		"a user of this name in another tenant opens the address": func(t *testing.T) error {
			namesake := connection.Browser{Known: true, Tenant: "acme", Subject: "dev:alice"}
			_, _, err := w.a.Show(t.Context(), begin(t, w, "dev:alice").ticket, namesake)
			return err
		},
		"a browser that nobody knows opens the address": func(t *testing.T) error {
			_, _, err := w.a.Show(t.Context(), begin(t, w, "dev:alice").ticket, connection.Browser{})
			return err
		},
		"the address has expired": func(t *testing.T) error {
			f := begin(t, w, "dev:alice")
			expire(f)
			_, _, err := w.a.Show(t.Context(), f.ticket, alice)
			return err
		},
		"the address is invented": func(t *testing.T) error {
			_, _, err := w.a.Show(t.Context(), "invented", alice)
			return err
		},
		"the state is another user's": func(t *testing.T) error {
			f := begin(t, w, "dev:alice").consented(t, w)
			return complete(f, func(r *connection.Response) { r.Browser = browser("dev:bob") })
		},
		"a code of another user's flow": func(t *testing.T) error { // code injection: the verifier is another
			f, g := begin(t, w, "dev:alice").consented(t, w), begin(t, w, "dev:mallory").consented(t, w)
			return complete(f, func(r *connection.Response) { r.Code = g.answer.Get("code") })
		},
		"a code that was issued without PKCE": func(t *testing.T) error {
			f := begin(t, w, "dev:alice").consented(t, w)
			return complete(f, func(r *connection.Response) { r.Code = "canary-stolen-code" })
		},
		"the state is replayed": func(t *testing.T) error {
			f := begin(t, w, "dev:alice").consented(t, w)
			if err := complete(f, func(*connection.Response) {}); err != nil {
				t.Fatal(err)
			}
			return complete(f, func(*connection.Response) {})
		},
		"the state has expired": func(t *testing.T) error {
			f := begin(t, w, "dev:alice").consented(t, w)
			expire(f)
			return complete(f, func(*connection.Response) {})
		},
		"the state is invented": func(*testing.T) error {
			_, err := w.a.Complete(t.Context(), connection.Response{State: "invented", Code: "x"})
			return err
		},
		"there is no state": func(*testing.T) error {
			_, err := w.a.Complete(t.Context(), connection.Response{Code: "x"})
			return err
		},
		"the cookie is missing": func(t *testing.T) error {
			return complete(begin(t, w, "dev:alice").consented(t, w), func(r *connection.Response) { r.Binding = "" })
		},
		"the cookie is another's": func(t *testing.T) error {
			other := begin(t, w, "dev:mallory").consented(t, w).went.Binding
			return complete(begin(t, w, "dev:alice").consented(t, w), func(r *connection.Response) { r.Binding = other })
		},
		"the issuer is another": func(t *testing.T) error {
			return complete(begin(t, w, "dev:alice").consented(t, w), func(r *connection.Response) { r.Issuer = &other })
		},
		"the issuer is missing": func(t *testing.T) error {
			return complete(begin(t, w, "dev:alice").consented(t, w), func(r *connection.Response) { r.Issuer = nil })
		},
		"the authorization server refuses": func(t *testing.T) error {
			return complete(begin(t, w, "dev:alice").consented(t, w), func(r *connection.Response) { r.Code, r.Error = "", "access_denied" })
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := forget(t, db); err != nil {
				t.Fatal(err)
			}
			err := attack(t)
			if err == nil {
				t.Fatal("it was not refused")
			}
			if f := fault.As(err); f == nil || strings.Contains(err.Error(), "canary-") {
				t.Errorf("refused with %v", err)
			}
			_, err = w.a.Token(t.Context(), wanted(w, "dev:alice"))
			if name != "the state is replayed" && fault.CodeOf(err) != "authorization_required" {
				t.Errorf("there is a connection all the same: %v", err)
			}
		})
	}
	t.Run("a wrong cookie does not use the state up", func(t *testing.T) {
		f := begin(t, w, "dev:alice").consented(t, w)
		if complete(f, func(r *connection.Response) { r.Binding = "wrong" }) == nil {
			t.Fatal("taken")
		}
		if err := complete(f, func(*connection.Response) {}); err != nil {
			t.Error(err)
		}
	})
	t.Run("the redirect URI is exact, the same in both requests", func(t *testing.T) {
		f := begin(t, w, "dev:alice")
		if f.attempt.Login.Redirect != redirect {
			t.Errorf("redirect URI %q", f.attempt.Login.Redirect)
		}
		f.consented(t, w) // the server compares it
	})
	t.Run("nothing is stored in clear", func(t *testing.T) { canaries(t, w) })
}

// canaries looks for what the authorization server issued, and for the secrets of attempts, in all rows.
func canaries(t *testing.T, w *world) {
	f := begin(t, w, "dev:alice").consented(t, w)
	secrets := append(w.idp.Secrets(), f.ticket, f.went.Binding, f.answer.Get("state"))
	if len(secrets) < 10 {
		t.Fatalf("only %d secrets were issued", len(secrets))
	}
	for _, table := range []string{"connections", "connection_attempts", "connection_clients"} {
		rows, err := sqldb.All(t.Context(), w.db.Reader(), everything(table), `SELECT * FROM `+table)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(rows)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range secrets {
			if strings.Contains(string(text), s) {
				t.Errorf("table %s has %q in clear", table, s)
			}
		}
	}
}

// everything scans all columns of a row as text.
func everything(table string) func(sqldb.Scanner) ([]string, error) {
	n := map[string]int{"connections": 18, "connection_attempts": 16, "connection_clients": 7}[table]
	return func(row sqldb.Scanner) ([]string, error) {
		raw := make([]any, n)
		into := make([]any, n)
		for i := range raw {
			into[i] = &raw[i]
		}
		if err := row.Scan(into...); err != nil {
			return nil, err
		}
		out := make([]string, n)
		for i, v := range raw {
			if b, ok := v.([]byte); ok {
				out[i] = string(b)
			} else if s, ok := v.(string); ok {
				out[i] = s
			}
		}
		return out, nil
	}
}

// forget removes connections and attempts of earlier attacks.
func forget(t *testing.T, db *sqldb.DB) error {
	t.Helper()
	return db.Write(t.Context(), func(tx sqldb.Tx) error {
		_, err := sqldb.Exec(t.Context(), tx, `DELETE FROM connections WHERE source = 'crm'`)
		if err == nil {
			_, err = sqldb.Exec(t.Context(), tx, `DELETE FROM connection_attempts WHERE source = 'crm'`)
		}
		return err
	})
}
