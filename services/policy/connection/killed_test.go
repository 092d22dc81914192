package connection_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testpg"
	"github.com/windlass-dev/windlass/services/policy/connection"
	"github.com/windlass-dev/windlass/services/policy/connection/idptest"
	policystore "github.com/windlass-dev/windlass/services/policy/store"
)

// The variables say to another process of this test what to do.
const (
	victimDB     = "TEST_VICTIM_DATABASE"
	victimIssuer = "TEST_VICTIM_ISSUER"
)

// dies is an egress that kills this process once a token endpoint has answered.
type dies struct{ *egress.Egress }

// Client implements connection.Dialer.
func (d dies) Client(o egress.Options) *http.Client {
	c := d.Egress.Client(o)
	c.Transport = answered{c.Transport}
	return c
}

type answered struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (a answered) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := a.next.RoundTrip(r)
	if err == nil && res.StatusCode == http.StatusOK && strings.HasSuffix(r.URL.Path, "/token") {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // nothing comes after it
		select {}
	}
	return res, err
}

// openPolicy opens policy's database, whose clock is ahead of the host's.
func openPolicy(t *testing.T, url string, ahead time.Duration) (db *sqldb.DB, closeOnce func()) {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{
		URL: url, Schema: "policy", MaxConns: 4, Now: func() time.Time { return time.Now().Add(ahead) },
	})
	if err != nil {
		t.Fatal(err)
	}
	closeOnce = sync.OnceFunc(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(closeOnce)
	return db, closeOnce
}

// TestVictim is the process that TestKilledInTheMiddleOfARefresh kills.
func TestVictim(t *testing.T) {
	url := os.Getenv(victimDB)
	if url == "" {
		t.Skip("only for another test")
	}
	db, _ := openPolicy(t, url, 0)
	w := worldAt(db, &idptest.Server{}, os.Getenv(victimIssuer), "crm")
	out, err := egress.New(egress.Config{Profile: egress.Local})
	if err != nil {
		t.Fatal(err)
	}
	victim, _ := w.replicaWith(t, dies{out})
	_, err = victim.Token(t.Context(), wanted(w, "dev:alice"))
	t.Fatalf("it goes on: %v", err)
}

// TestKilledInTheMiddleOfARefresh: policy is killed after the authorization server has replaced a refresh token, and before the new one is
// stored. The user has to connect the source again. The server gets one further request, whatever the number of calls. Other users are not
// affected.
func TestKilledInTheMiddleOfARefresh(t *testing.T) {
	for name, url := range map[string]func(*testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "policy.db") },
		"postgres": func(t *testing.T) string { return testpg.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			address := url(t)
			db, closeOnce := openPolicy(t, address, 0)
			if err := policystore.Migrate(t.Context(), db); err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, db, "crm")
			connect(t, w, "dev:alice")
			connect(t, w, "dev:bob")
			bobs := token(t, w.a, wanted(w, "dev:bob"))
			old(t, w, "dev:alice")
			requests := w.idp.TokenRequests()

			closeOnce() // a database that is a file belongs to one process
			victim := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestVictim$")
			victim.Env = append(os.Environ(), victimDB+"="+address, victimIssuer+"="+w.idp.URL)
			out, err := victim.CombinedOutput()
			status, ok := victim.ProcessState.Sys().(syscall.WaitStatus)
			if !ok || status.Signal() != syscall.SIGKILL || w.idp.TokenRequests() != requests+1 {
				t.Fatalf("the other process was not killed after a refresh: %v\n%s", err, out)
			}

			w.db, _ = openPolicy(t, address, time.Minute) // the killed process has the claim for half a minute
			w.a, _ = w.replica(t)
			w.b, _ = w.replica(t)
			for range 3 {
				for _, c := range []*connection.Connections{w.a, w.b} {
					_, err := c.Token(t.Context(), wanted(w, "dev:alice"))
					if f := fault.From(err); fault.CodeOf(err) != "authorization_required" || f.Details["connect_url"] == "" {
						t.Errorf("alice gets %v", err)
					}
				}
			}
			if n := w.idp.TokenRequests(); n != requests+2 {
				t.Errorf("%d requests for tokens after the kill", n-requests-1)
			}
			if got := token(t, w.b, wanted(w, "dev:bob")); got != bobs {
				t.Errorf("bob has version %d", got.Version)
			}
			connect(t, w, "dev:alice")
			if got := token(t, w.a, wanted(w, "dev:alice")); got.Access == bobs.Access {
				t.Error("alice has bob's token")
			}
		})
	}
}
