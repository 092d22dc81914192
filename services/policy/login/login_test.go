package login_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testpg"
	loginv1 "github.com/windlass-dev/windlass/proto/gen/windlass/login/v1"
	"github.com/windlass-dev/windlass/services/policy/audit/trail"
	"github.com/windlass-dev/windlass/services/policy/login"
	"github.com/windlass-dev/windlass/services/policy/store"
)

func TestMain(m *testing.M) { testmain.Verify(testpg.Main{M: m}) }

func TestSQLite(t *testing.T) { suite(t, "sqlite:"+filepath.Join(t.TempDir(), "policy.db"), false) }

func TestPostgres(t *testing.T) { suite(t, testpg.URL(t), true) }

// suite tests the store, with a second replica where the database takes one.
func suite(t *testing.T, url string, replicas bool) {
	t.Helper()
	var recorded *trail.Trail
	replica := func() *login.Server {
		db, err := sqldb.Open(t.Context(), sqldb.Config{URL: url, Schema: "policy", MaxConns: 8})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		if err := store.Migrate(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		recorded = trail.Of(db)
		return login.New(db, recorded)
	}
	s, ctx := replica(), t.Context()
	id := func(b byte) []byte { return append(make([]byte, 31), b) }
	create := func(b byte, ends time.Duration) error {
		_, err := s.CreateLogin(ctx, &loginv1.CreateLoginRequest{
			Id: id(b), Sealed: []byte("sealed"), ExpireTime: timestamppb.New(time.Now().Add(ends)),
		})
		return err
	}
	want := func(what string, err error, code string) {
		t.Helper()
		if fault.CodeOf(err) != code {
			t.Errorf("%s: %v, want %q", what, err, code)
		}
	}
	want("a new login", create(1, time.Hour), "")
	want("the same again", create(1, time.Hour), "already_exists")
	want("one that has expired", create(2, -time.Second), "")
	_, err := s.GetLogin(ctx, &loginv1.GetLoginRequest{Id: id(2)})
	want("reading the expired one", err, "not_found")
	want("one more", create(3, time.Hour), "")
	if _, err = s.LeaseLogin(ctx, &loginv1.LeaseLoginRequest{Id: id(2), Revision: 1}); err == nil {
		t.Error("the expired login has not been removed")
	}

	servers := []*login.Server{s}
	if replicas {
		servers = append(servers, replica())
	}
	if leased := leaseOnce(ctx, t, servers, id(1)); leased != 1 {
		t.Errorf("%d gateways have the lease", leased)
	}
	_, err = s.UpdateLogin(ctx, &loginv1.UpdateLoginRequest{Id: id(1), Revision: 1, Sealed: []byte("new")})
	want("the new tokens", err, "")
	_, err = s.UpdateLogin(ctx, &loginv1.UpdateLoginRequest{Id: id(1), Revision: 1, Sealed: []byte("late")})
	want("tokens that come late", err, "conflict")
	l, err := s.GetLogin(ctx, &loginv1.GetLoginRequest{Id: id(1)})
	if err != nil || string(l.GetSealed()) != "new" || l.GetRevision() != 2 || time.Until(l.GetExpireTime().AsTime()) < 50*time.Minute {
		t.Errorf("%v, %v", l, err)
	}
	_, err = s.LeaseLogin(ctx, &loginv1.LeaseLoginRequest{Id: id(1), Revision: 2})
	want("the next lease", err, "")
	for range 2 {
		_, err = s.DeleteLogin(ctx, &loginv1.DeleteLoginRequest{Id: id(1)})
		want("a logout", err, "")
	}
	_, err = s.UpdateLogin(ctx, &loginv1.UpdateLoginRequest{Id: id(1), Revision: 2, Sealed: []byte("late")})
	want("tokens after the logout", err, "not_found")
	logouts(ctx, t, s, recorded)
}

// logouts checks that a logout is recorded once, with its user; that of a login without a user is not.
func logouts(ctx context.Context, t *testing.T, s *login.Server, records *trail.Trail) {
	t.Helper()
	id := bytes.Repeat([]byte{7}, 32)
	_, err := s.CreateLogin(ctx, &loginv1.CreateLoginRequest{
		Id: id, Sealed: []byte("sealed"), ExpireTime: timestamppb.New(time.Now().Add(time.Hour)), Tenant: "acme", Subject: "dev:carol",
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := s.DeleteLogin(authn.With(ctx, authn.Service("gateway")), &loginv1.DeleteLoginRequest{Id: id}); err != nil {
			t.Fatal(err)
		}
	}
	if err := records.Extend(ctx); err != nil {
		t.Fatal(err)
	}
	found, err := records.List(ctx, "acme", trail.Filter{}, 0, 10)
	if err != nil || len(found.Records) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	if r := found.Records[0]; r.Action != "logout" || r.Subject != "dev:carol" || r.Actor != "gateway" || r.Outcome != trail.Done {
		t.Errorf("%+v", r)
	}
	if found, err = records.List(ctx, "", trail.Filter{}, 0, 10); err != nil || len(found.Records) != 0 {
		t.Errorf("logouts of nobody: %+v, %v", found, err)
	}
}

// leaseOnce has gateways request the lease of a login at the same time, and returns how many get it.
func leaseOnce(ctx context.Context, t *testing.T, servers []*login.Server, id []byte) int32 {
	t.Helper()
	var got atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			_, err := servers[i%len(servers)].LeaseLogin(ctx, &loginv1.LeaseLoginRequest{Id: id, Revision: 1})
			var known *fault.Error
			switch {
			case err == nil:
				got.Add(1)
			case !errors.As(err, &known) || fault.CodeOf(err) != "conflict":
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return got.Load()
}
