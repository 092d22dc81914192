package vault_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/libs/keyset"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/sqldb/plantest"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testpg"
	"github.com/windlass-dev/windlass/services/policy/store"
	"github.com/windlass-dev/windlass/services/policy/vault"
)

const canary = "canary-91c3fe"

func TestMain(m *testing.M) { testmain.Verify(testpg.Main{M: m}) }

func TestSQLite(t *testing.T) { suite(t, "sqlite:"+filepath.Join(t.TempDir(), "policy.db")) }

func TestPostgres(t *testing.T) { suite(t, testpg.URL(t)) }

func master(t *testing.T, letter string) keyset.Master {
	t.Helper()
	m, err := keyset.Derive("test", secret.New(strings.Repeat(letter, keyset.MinSecret)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func suite(t *testing.T, url string) {
	t.Helper()
	open := func() *sqldb.DB {
		db, err := sqldb.Open(t.Context(), sqldb.Config{URL: url, Schema: "policy", MaxConns: 8})
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Migrate(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			plantest.Check(t, db, "ORDER BY tenant, name", "count(*)", "test of what is stored")
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		return db
	}
	db := open()
	t.Run("values are read back, by their tenant only", func(t *testing.T) { readBack(t, db) })
	t.Run("a change without what belongs to it is none", func(t *testing.T) { together(t, db) })
	t.Run("the database holds ciphertext", func(t *testing.T) { ciphertext(t, db) })
	t.Run("a value in another row cannot be opened", func(t *testing.T) { moved(t, db) })
	t.Run("replicas read and write while keys are rotated", func(t *testing.T) { rotation(t, db) })
	t.Run("the master key can be changed", func(t *testing.T) { masters(t, db) })
	t.Run("without a master key nothing is stored", func(t *testing.T) { none(t, db) })
}

// together: what is done in the transaction of a change undoes it by failing.
func together(t *testing.T, db *sqldb.DB) {
	v := vault.New(db, master(t, "a"))
	failed := errors.New("cannot be recorded")
	also := func(sqldb.Tx, vault.Secret) error { return failed }
	s := vault.Secret{Tenant: "together", Name: "crm", SetBy: "ann"}
	if _, err := v.Create(t.Context(), s, secret.New("first"), also); !errors.Is(err, failed) {
		t.Errorf("create: %v", err)
	}
	if _, err := v.Get(t.Context(), s.Tenant, s.Name); !errors.Is(err, vault.ErrNotFound) {
		t.Errorf("a secret that was not created: %v", err)
	}
	create(t, v, s.Tenant, s.Name, "first")
	if _, err := v.Update(t.Context(), s, secret.New("second"), also); !errors.Is(err, failed) {
		t.Errorf("update: %v", err)
	}
	if err := v.Delete(t.Context(), s.Tenant, s.Name, also); !errors.Is(err, failed) {
		t.Errorf("delete: %v", err)
	}
	if _, _, err := v.Rotate(t.Context(), func(sqldb.Tx, string) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("rotate: %v", err)
	}
	if got := value(t, v, s.Tenant, s.Name); got != "first" {
		t.Errorf("the secret is %q", got)
	}
	if err := v.Delete(t.Context(), s.Tenant, s.Name); err != nil {
		t.Error(err)
	}
}

func value(t *testing.T, v *vault.Vault, tenant, name string) string {
	t.Helper()
	got, _, err := v.Value(t.Context(), tenant, name)
	if err != nil {
		t.Errorf("%s of %s: %v", name, tenant, err)
	}
	return got.Reveal()
}

func create(t *testing.T, v *vault.Vault, tenant, name, text string) {
	t.Helper()
	if _, err := v.Create(t.Context(), vault.Secret{Tenant: tenant, Name: name, SetBy: "ann"}, secret.New(text)); err != nil {
		t.Fatal(err)
	}
}

func readBack(t *testing.T, db *sqldb.DB) {
	v := vault.New(db, master(t, "a"))
	create(t, v, "one", "crm", "first")
	create(t, v, "two", "crm", "other")
	if _, err := v.Create(t.Context(), vault.Secret{Tenant: "one", Name: "crm"}, secret.New("again")); !errors.Is(err, vault.ErrExists) {
		t.Errorf("the second Create: %v", err)
	}
	s, err := v.Update(t.Context(), vault.Secret{Tenant: "one", Name: "crm", SetBy: "bob"}, secret.New("second"))
	if err != nil || s.Version != 2 || s.SetBy != "bob" || s.Updated.Before(s.Created) {
		t.Errorf("updated: %+v, %v", s, err)
	}
	if a, b := value(t, v, "one", "crm"), value(t, v, "two", "crm"); a != "second" || b != "other" {
		t.Errorf("values %q and %q", a, b)
	}
	list, err := v.List(t.Context(), "one", "", 10)
	if err != nil || len(list) != 1 || list[0] != s {
		t.Errorf("list: %+v, %v", list, err)
	}
	if err := v.Delete(t.Context(), "one", "crm"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := v.Value(t.Context(), "one", "crm"); !errors.Is(err, vault.ErrNotFound) {
		t.Errorf("deleted: %v", err)
	}
	if err := v.Delete(t.Context(), "one", "crm"); !errors.Is(err, vault.ErrNotFound) {
		t.Errorf("deleted twice: %v", err)
	}
	if _, err := v.Update(t.Context(), vault.Secret{Tenant: "one", Name: "crm"}, secret.New("x")); !errors.Is(err, vault.ErrNotFound) {
		t.Errorf("updated after it was deleted: %v", err)
	}
}

func ciphertext(t *testing.T, db *sqldb.DB) {
	v := vault.New(db, master(t, "a"))
	create(t, v, "stored", "key", canary)
	sealed, err := sqldb.One(t.Context(), db.Reader(), sqldb.Column[[]byte],
		`SELECT sealed FROM secrets WHERE tenant = $1 AND name = $2`, "stored", "key")
	if err != nil || strings.Contains(string(sealed), canary) {
		t.Errorf("stored: %q, %v", sealed, err)
	}
}

func moved(t *testing.T, db *sqldb.DB) {
	v := vault.New(db, master(t, "a"))
	create(t, v, "alice", "key", canary)
	create(t, v, "mallory", "key", "own")
	err := db.Write(t.Context(), func(tx sqldb.Tx) error {
		return sqldb.ExecOne(t.Context(), tx, `UPDATE secrets SET sealed = (SELECT sealed FROM secrets s WHERE s.tenant = $1 AND s.name = $2)
			WHERE tenant = $3 AND name = $2`, "alice", "key", "mallory")
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := v.Value(t.Context(), "mallory", "key"); err == nil {
		t.Errorf("the value of another tenant was opened: %d bytes", len(got.Reveal()))
	}
	if err := v.Delete(t.Context(), "mallory", "key"); err != nil {
		t.Fatal(err)
	}
}

func rotation(t *testing.T, db *sqldb.DB) {
	replicas := []*vault.Vault{vault.New(db, master(t, "a")), vault.New(db, master(t, "a")), vault.New(db, master(t, "a"))}
	for i := range 4 {
		create(t, replicas[0], "busy", fmt.Sprint("s", i), "0")
	}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() { // one writer of each secret, who reads it at each replica
			name := fmt.Sprint("s", i)
			for n := 1; n <= 10; n++ {
				_, err := replicas[n%3].Update(t.Context(), vault.Secret{Tenant: "busy", Name: name}, secret.New(fmt.Sprint(n)))
				if err != nil {
					t.Error(err)
				}
				if got := value(t, replicas[(n+1)%3], "busy", name); got != fmt.Sprint(n) {
					t.Errorf("%s is %q after %d was set", name, got, n)
				}
			}
		})
	}
	seen := map[string]bool{}
	for i := range 5 {
		n, id, err := replicas[i%3].Rotate(t.Context())
		if err != nil || n < 4 || seen[id] {
			t.Errorf("rotated %d to %s: %v", n, id, err)
		}
		seen[id] = true
	}
	all.Wait()
	fresh := vault.New(db, master(t, "a"))
	for i := range 4 {
		if got := value(t, fresh, "busy", fmt.Sprint("s", i)); got != "10" {
			t.Errorf("at the end s%d is %q", i, got)
		}
	}
}

func masters(t *testing.T, db *sqldb.DB) {
	create(t, vault.New(db, master(t, "a")), "keys", "key", canary)
	if err := vault.New(db, master(t, "b")).Check(t.Context()); err == nil {
		t.Error("another master key was taken")
	}
	if err := vault.New(db, master(t, "b"), master(t, "a")).Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := vault.New(db, master(t, "a")).Check(t.Context()); err == nil {
		t.Error("the data keys are still encrypted with the old master key")
	}
	if got := value(t, vault.New(db, master(t, "b")), "keys", "key"); got != canary {
		t.Errorf("with the new master key: %q", got)
	}
	if err := vault.New(db, master(t, "a"), master(t, "b")).Check(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func none(t *testing.T, db *sqldb.DB) {
	v := vault.New(db)
	if _, err := v.Create(t.Context(), vault.Secret{Tenant: "none", Name: "key"}, secret.New("x")); !errors.Is(err, vault.ErrNoMaster) {
		t.Errorf("Create: %v", err)
	}
	if _, _, err := v.Value(t.Context(), "keys", "key"); !errors.Is(err, vault.ErrNoMaster) {
		t.Errorf("Value: %v", err)
	}
	if err := v.Check(t.Context()); err != nil {
		t.Error(err)
	}
}
