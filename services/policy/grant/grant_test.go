package grant_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/callertoken"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/keyset"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/sqldb/plantest"
	"github.com/windlass-dev/windlass/libs/testdb"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testpg"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/grant"
	"github.com/windlass-dev/windlass/services/policy/grant/exchange"
	grantdb "github.com/windlass-dev/windlass/services/policy/grant/store"
	"github.com/windlass-dev/windlass/services/policy/store"
	"github.com/windlass-dev/windlass/services/policy/vault"
)

func TestMain(m *testing.M) { testmain.Verify(testpg.Main{M: m}) }

// tables are those of the policy service.
var tables = testdb.New("policy", store.Migrate)

const canary = "canary-7d21fa"

// clock is the time of everybody in a test.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// issuer is one whose refresh tokens are valid once, and whose access tokens live for a minute.
type issuer struct {
	clock *clock

	mu       sync.Mutex
	serial   int
	current  string // refresh token
	revoked  bool
	away     bool
	refuse   bool // exchanges
	noLogin  bool // gives no refresh tokens
	logins   int
	refreshs int
	targets  []exchange.Target
	ended    []string // refresh tokens that were revoked
}

func failed(kind exchange.Kind) error {
	return &exchange.Error{Kind: kind, Text: fmt.Sprintf("the issuer says no (%d)", kind)}
}

func (*issuer) Knows(name string) bool { return name == "corp" }

func (i *issuer) token() exchange.Token {
	i.serial++
	return exchange.Token{
		Value: secret.New(fmt.Sprintf("%s-access-%d", canary, i.serial)), Subject: "alice", Expires: i.clock.now().Add(time.Minute),
	}
}

func (i *issuer) Login(_ context.Context, _ string, user secret.Value) (exchange.Tokens, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.logins++
	out := exchange.Tokens{Access: exchange.Token{Value: user, Subject: "alice", Expires: i.clock.now().Add(time.Minute)}}
	if !i.noLogin {
		i.serial++
		i.current, i.revoked = fmt.Sprintf("%s-refresh-%d", canary, i.serial), false
		out.Refresh = secret.New(i.current)
	}
	return out, nil
}

func (i *issuer) Refresh(_ context.Context, _ string, refresh secret.Value, subject string) (exchange.Tokens, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.away:
		return exchange.Tokens{}, failed(exchange.Unreachable)
	case i.revoked || refresh.Reveal() != i.current || subject != "alice":
		i.revoked = true
		return exchange.Tokens{}, failed(exchange.Ended)
	}
	i.refreshs++
	i.serial++
	i.current = fmt.Sprintf("%s-refresh-%d", canary, i.serial)
	return exchange.Tokens{Access: i.token(), Refresh: secret.New(i.current)}, nil
}

func (i *issuer) Revoke(_ context.Context, _ string, refresh secret.Value) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.away {
		return failed(exchange.Unreachable)
	}
	i.ended = append(i.ended, refresh.Reveal())
	return nil
}

func (i *issuer) Exchange(
	_ context.Context, _ string, subject exchange.Token, _ string, t exchange.Target, _ bool,
) (exchange.Token, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.away:
		return exchange.Token{}, failed(exchange.Unreachable)
	case i.refuse:
		return exchange.Token{}, failed(exchange.Refused)
	case i.revoked || !i.clock.now().Before(subject.Expires):
		return exchange.Token{}, failed(exchange.Ended)
	}
	i.targets = append(i.targets, t)
	return i.token(), nil
}

// world is a service over a database.
type world struct {
	*testing.T
	*grant.Service
	db     *sqldb.DB
	clock  *clock
	idp    *issuer
	tokens *callertoken.Sealer
	store  *grantdb.Store
	vault  *vault.Vault
	woken  int
}

func (w *world) LoggedIn(context.Context, string, string) (int, error) {
	w.woken++
	return 3, nil
}

func newWorld(t *testing.T, url string) *world {
	t.Helper()
	w := &world{T: t, clock: &clock{at: time.Unix(1_800_000_000, 0)}}
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: url, Schema: "policy", MaxConns: 8, Now: w.clock.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		plantest.Check(t, db, "ORDER BY tenant, ", "sealed_access = sealed_refresh", "test of what is stored")
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	w.db, w.idp = db, &issuer{clock: w.clock}
	if w.tokens, err = callertoken.NewSealer(secret.New(strings.Repeat("k", 32))); err != nil {
		t.Fatal(err)
	}
	w.Service = w.replica()
	return w
}

// replica returns another service over the same database, as after a restart.
func (w *world) replica() *grant.Service {
	w.Helper()
	m, err := keyset.Derive("test", secret.New(strings.Repeat("m", keyset.MinSecret)))
	if err != nil {
		w.Fatal(err)
	}
	w.vault = vault.New(w.db, m)
	w.store = grantdb.New(w.db, w.vault)
	return grant.New(config.Default[grant.Config](), grant.Deps{
		Store: w.store, Issuers: w.idp, Tokens: w.tokens, Waiting: w, Log: slog.New(slog.DiscardHandler),
	})
}

var alice = grant.User{Tenant: "default", Subject: "corp:alice", Issuer: "corp"}

// sealed seals a token of alice.
func (w *world) sealed(token string) []byte {
	return w.tokens.Seal(secret.New(token), &policyv1.Principal{Tenant: alice.Tenant, Subject: alice.Subject, Issuer: alice.Issuer})
}

func (w *world) create(turn, token string) {
	w.Helper()
	if err := w.Create(w.Context(), alice, turn, "", w.sealed(token)); err != nil {
		w.Fatal(err)
	}
}

var orders = exchange.Target{Audience: "orders"}

func redemption(turn string) grant.Redemption {
	return grant.Redemption{User: alice, TurnID: turn, Source: "orders", Target: orders}
}

func (w *world) redeem(turn string) error {
	_, err := w.Redeem(w.Context(), redemption(turn))
	return err
}

func (w *world) mustRedeem(turn string) {
	w.Helper()
	if err := w.redeem(turn); err != nil {
		w.Errorf("turn %s: %v", turn, err)
	}
}

// mustAsk checks that a turn needs a login of its user.
func (w *world) mustAsk(turn string) {
	w.Helper()
	err := w.redeem(turn)
	if f := fault.From(err); !fault.Is(err, faultv1.Reason_REASON_AUTHORIZATION_REQUIRED) || f.Details["kind"] != "login" ||
		f.Details["source"] != "orders" {
		w.Errorf("turn %s: %v", turn, err)
	}
}

func (w *world) count(table string) int64 {
	w.Helper()
	n, err := sqldb.One(w.Context(), w.db.Reader(), sqldb.Column[int64], "SELECT count(*) /* test of what is stored */ FROM "+table)
	if err != nil {
		w.Fatal(err)
	}
	return n
}

// both runs a test on both engines.
func both(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(newWorld(t, tables.SQLite(t))) })
	t.Run("postgres", func(t *testing.T) { test(newWorld(t, tables.Postgres(t))) })
}

// A turn whose token lived for a minute acts for its user ten minutes later, and days later, also after policy was killed.
func TestATurnOutlivesTheTokenOfItsUser(t *testing.T) {
	both(t, func(w *world) {
		w.create("trn_1", canary+"-user")
		w.mustRedeem("trn_1")
		for range 10 {
			w.clock.pass(time.Minute)
			w.mustRedeem("trn_1")
		}
		if w.idp.logins != 1 || w.idp.refreshs == 0 {
			w.Errorf("%d logins, %d refreshs", w.idp.logins, w.idp.refreshs)
		}
		w.clock.pass(20 * 24 * time.Hour)
		w.Service = w.replica()
		w.mustRedeem("trn_1")
		w.clock.pass(11 * 24 * time.Hour)
		w.mustAsk("trn_1")
		if n, err := w.store.Sweep(w.Context(), 10); err != nil || n != 1 || w.count("grants") != 0 || w.count("grant_logins") != 0 {
			w.Errorf("%d grants swept, %v", n, err)
		}
	})
}

func TestWithoutRefreshTokensATurnActsUntilTheTokenExpires(t *testing.T) {
	both(t, func(w *world) {
		w.idp.noLogin = true
		w.create("trn_1", "user")
		w.clock.pass(59 * time.Second)
		w.mustRedeem("trn_1")
		w.clock.pass(2 * time.Second)
		w.mustAsk("trn_1")
	})
}

func TestTurnsOfOneTokenShareALogin(t *testing.T) {
	both(t, func(w *world) {
		w.create("trn_1", "one")
		w.create("trn_2", "one")
		w.create("trn_2", "one") // again
		w.create("trn_3", "two")
		if w.idp.logins != 2 || w.count("grants") != 3 || w.count("grant_logins") != 2 {
			w.Errorf("%d logins, %d grants", w.idp.logins, w.count("grants"))
		}
		for _, end := range []struct {
			turn  string
			login int64
		}{{"trn_1", 2}, {"trn_2", 1}, {"trn_2", 1}, {"trn_3", 0}} {
			if err := w.End(w.Context(), "default", []string{end.turn}); err != nil || w.count("grant_logins") != end.login {
				w.Errorf("after the end of %s: %d logins, %v", end.turn, w.count("grant_logins"), err)
			}
		}
	})
}

func TestTurnsOfSubAgentsActForTheSameUser(t *testing.T) {
	both(t, func(w *world) {
		w.create("trn_1", "one")
		for _, row := range [][2]string{{"trn_2", "trn_1"}, {"trn_3", "trn_2"}, {"trn_4", "trn_of_nobody"}} {
			if err := w.Create(w.Context(), alice, row[0], row[1], nil); err != nil {
				w.Fatal(err)
			}
		}
		bob := grant.User{Tenant: "default", Subject: "corp:bob", Issuer: "corp"}
		if err := w.Create(w.Context(), bob, "trn_5", "trn_1", nil); err != nil {
			w.Fatal(err)
		}
		if err := w.End(w.Context(), "default", []string{"trn_1"}); err != nil {
			w.Fatal(err)
		}
		w.mustRedeem("trn_2") // it outlives the turn that started it
		w.mustRedeem("trn_3")
		w.mustAsk("trn_4")
		r := redemption("trn_5")
		r.User = bob
		if _, err := w.Redeem(w.Context(), r); !fault.Is(err, faultv1.Reason_REASON_AUTHORIZATION_REQUIRED) {
			w.Errorf("another user's turn: %v", err)
		}
		r.TurnID = "trn_2"
		if _, err := w.Redeem(w.Context(), r); !fault.Is(err, faultv1.Reason_REASON_NOT_FOUND) {
			w.Errorf("another user with the turn of alice: %v", err)
		}
		g, err := w.store.OfTurn(w.Context(), "default", "trn_2")
		if err != nil {
			w.Fatal(err)
		}
		if _, err := w.Revoke(w.Context(), alice, g.ID); err != nil {
			w.Fatal(err)
		}
		for _, turn := range []string{"trn_2", "trn_3"} {
			if err := w.redeem(turn); !fault.Is(err, faultv1.Reason_REASON_FAILED_PRECONDITION) {
				w.Errorf("revoked: %v", err)
			}
		}
		if n, _, err := w.Renew(w.Context(), alice, w.sealed("new")); err != nil || n != 1 { // trn_4; those of alice's other turns are revoked
			w.Errorf("%d grants renewed, %v", n, err)
		}
		if err := w.redeem("trn_2"); !fault.Is(err, faultv1.Reason_REASON_FAILED_PRECONDITION) {
			w.Errorf("a login does not undo a revocation: %v", err)
		}
	})
}

func TestTheRefreshTokenIsRevokedAfterTheLastTurn(t *testing.T) {
	both(t, func(w *world) {
		end := func(turn string, revoked ...string) {
			t.Helper()
			if err := w.End(w.Context(), "default", []string{turn}); err != nil || !slices.Equal(w.idp.ended, revoked) {
				w.Errorf("after %s: %q were revoked, want %q, %v", turn, w.idp.ended, revoked, err)
			}
		}
		w.create("trn_1", "one")
		w.create("trn_2", "one")
		w.clock.pass(time.Minute)
		w.mustRedeem("trn_1") // with another refresh token from now on
		first := w.idp.current
		end("trn_1")
		end("trn_2", first)
		end("trn_2", first) // again
		w.create("trn_3", "two")
		w.idp.away = true
		end("trn_3", first)
		if n := w.count("grant_logins"); n != 0 {
			w.Errorf("%d logins are kept since the issuer is away", n)
		}
	})
}

func TestRevokedAtTheIssuerATurnWaitsForALogin(t *testing.T) {
	both(t, func(w *world) {
		w.create("trn_1", "one")
		w.mustRedeem("trn_1")
		w.idp.revoked = true
		w.mustAsk("trn_1")
		w.mustAsk("trn_1")
		if list, err := w.List(w.Context(), alice, time.Time{}, "", 10); err != nil || len(list) != 1 || list[0].Login.Usable(w.clock.now()) {
			w.Errorf("listed: %+v, %v", list, err)
		}
		// The same token may be presented again, for instance if only the mesh's own had been revoked.
		renewed, resumed, err := w.Renew(w.Context(), alice, w.sealed("one"))
		if err != nil || renewed != 1 || resumed != 3 || w.woken != 1 {
			w.Errorf("%d renewed, %d resumed, %v", renewed, resumed, err)
		}
		w.mustRedeem("trn_1")
		if n, _, err := w.Renew(w.Context(), alice, w.sealed("two")); err != nil || n != 1 || w.count("grant_logins") != 1 {
			w.Errorf("another login: %d renewed, %d kept, %v", n, w.count("grant_logins"), err)
		}
		if err := w.End(w.Context(), "default", []string{"trn_1"}); err != nil {
			w.Fatal(err)
		}
		if n, _, err := w.Renew(w.Context(), alice, w.sealed("three")); err != nil || n != 0 || w.count("grant_logins") != 0 {
			w.Errorf("a login that no grant needs: %d renewed, %d kept, %v", n, w.count("grant_logins"), err)
		}
	})
}

// Each reason why there is no token has its own error, and none is taken for a call without a user.
func TestS4WhyThereIsNoToken(t *testing.T) {
	both(t, func(w *world) {
		w.create("trn_1", "one")
		codes := map[string]bool{}
		try := func(name string, r grant.Redemption, want faultv1.Reason) {
			w.Helper()
			got, err := w.Redeem(w.Context(), r)
			f := fault.From(err)
			if !fault.Is(err, want) || !got.Value.IsZero() || f.Message == "" || codes[f.Message] {
				w.Errorf("%s: %+v, %v", name, got, err)
			}
			codes[f.Message] = true
		}
		local := redemption("trn_2")
		local.User = grant.User{Tenant: "default", Subject: "local"}
		try("a user without issuer", local, faultv1.Reason_REASON_FAILED_PRECONDITION)
		other := redemption("trn_1")
		other.Issuer = "else"
		try("a source for another issuer", other, faultv1.Reason_REASON_FAILED_PRECONDITION)
		direct := redemption("")
		try("a direct call without a token", direct, faultv1.Reason_REASON_AUTHORIZATION_REQUIRED)
		direct.Sealed = w.tokens.Seal(secret.New("x"), &policyv1.Principal{Tenant: "default", Subject: "corp:bob", Issuer: "corp"})
		try("a direct call with the token of another user", direct, faultv1.Reason_REASON_INTERNAL)
		w.idp.away = true
		try("the issuer is away", redemption("trn_1"), faultv1.Reason_REASON_UNAVAILABLE)
		w.idp.away, w.idp.refuse = false, true
		try("the issuer refuses", redemption("trn_1"), faultv1.Reason_REASON_FAILED_PRECONDITION)
		w.idp.refuse = false
		w.mustRedeem("trn_1")
	})
}

// Two processes that need a new access token at once use a refresh token once.
func TestReplicasReplaceTokensOneAtATime(t *testing.T) {
	both(t, func(w *world) {
		w.create("trn_1", "one")
		other := w.replica()
		for range 5 {
			w.clock.pass(2 * time.Minute)
			var all sync.WaitGroup
			for _, s := range []*grant.Service{w.Service, other, w.Service, other} {
				all.Go(func() {
					if _, err := s.Redeem(w.Context(), redemption("trn_1")); err != nil {
						w.Error(err)
					}
				})
			}
			all.Wait()
		}
	})
}

func TestTokensAreStoredEncrypted(t *testing.T) {
	both(t, func(w *world) {
		w.create("trn_1", canary+"-user")
		check := func() {
			w.Helper()
			for _, column := range []string{"sealed_access", "sealed_refresh"} {
				sealed, err := sqldb.One(w.Context(), w.db.Reader(), sqldb.Column[[]byte],
					"SELECT "+column+" /* test of what is stored */ FROM grant_logins")
				if err != nil || len(sealed) == 0 || strings.Contains(string(sealed), canary) {
					w.Errorf("%s holds %q, %v", column, sealed, err)
				}
			}
		}
		check()
		if n, _, err := w.vault.Rotate(w.Context()); err != nil || n != 1 {
			w.Errorf("%d values rotated, %v", n, err)
		}
		check()
		w.mustRedeem("trn_1")
		// A ciphertext in another row cannot be opened.
		if err := w.db.Write(w.Context(), func(tx sqldb.Tx) error {
			return sqldb.ExecOne(w.Context(), tx, `UPDATE grant_logins SET sealed_access = sealed_refresh`)
		}); err != nil {
			w.Fatal(err)
		}
		if err := w.redeem("trn_1"); err == nil || errors.Is(err, store.ErrNotFound) {
			w.Errorf("a token in another column: %v", err)
		}
	})
}

func TestGrantsOfOthersAreNotFound(t *testing.T) {
	both(t, func(w *world) {
		w.create("trn_1", "one")
		g, err := w.store.OfTurn(w.Context(), "default", "trn_1")
		if err != nil {
			w.Fatal(err)
		}
		for _, u := range []grant.User{
			{Tenant: "default", Subject: "corp:bob", Issuer: "corp"}, {Tenant: "acme", Subject: alice.Subject, Issuer: "corp"},
		} {
			_, get := w.Get(w.Context(), u, g.ID)
			_, revoke := w.Revoke(w.Context(), u, g.ID)
			list, err := w.List(w.Context(), u, time.Time{}, "", 10)
			if !fault.Is(get, faultv1.Reason_REASON_NOT_FOUND) || !fault.Is(revoke, faultv1.Reason_REASON_NOT_FOUND) ||
				len(list) != 0 || err != nil {
				w.Errorf("%+v: %v, %v, %v, %v", u, get, revoke, list, err)
			}
		}
		w.create("trn_2", "one")
		w.clock.pass(time.Second)
		w.create("trn_3", "one")
		first, err := w.List(w.Context(), alice, time.Time{}, "", 2)
		if err != nil || len(first) != 2 || first[0].TurnID != "trn_3" {
			w.Fatalf("the first page: %+v, %v", first, err)
		}
		rest, err := w.List(w.Context(), alice, first[1].Created, first[1].ID, 2)
		if err != nil || len(rest) != 1 || rest[0].TurnID == first[1].TurnID {
			w.Errorf("the second page: %+v, %v", rest, err)
		}
	})
}
