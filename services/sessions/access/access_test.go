package access_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/testmain"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

func TestPeopleSeeTheirOwnAndAdministratorsAndServicesEverything(t *testing.T) {
	for _, row := range []struct {
		name      string
		principal *policyv1.Principal
		owner     string
		sees      bool // what belongs to ann
	}{
		{"ann", authn.User("ann"), "ann", true},
		{"ann with a role", authn.User("ann", "ops"), "ann", true},
		{"bob", authn.User("bob"), "bob", false},
		{"bob, an administrator", authn.User("bob", "ops", "admin"), "", true},
		{"somebody like an administrator", authn.User("bob", "administrator"), "bob", false},
		{"a service", authn.Service("worker"), "", true},
		{"a person called like a service", authn.User("worker"), "worker", false},
	} {
		ctx := authn.With(t.Context(), row.principal)
		if got := access.Owner(ctx); got != row.owner {
			t.Errorf("%s sees what belongs to %q, want %q", row.name, got, row.owner)
		}
		if got := access.Sees(ctx, "ann"); got != row.sees {
			t.Errorf("%s sees what belongs to ann: %t", row.name, got)
		}
	}
}

func TestWithoutNULATextCanBeStored(t *testing.T) {
	for text, want := range map[string]bool{"": true, "plain": true, "\x01\n ü": true, "\x00": false, "a\x00b": false} {
		if got := access.Storable(text); got != want {
			t.Errorf("%q can be stored: %t", text, got)
		}
	}
}

// policy answers with permissions, or fails.
type policy struct {
	resp *policyv1.GetPermissionsResponse
	err  error
}

func (p policy) GetPermissions(context.Context, *policyv1.GetPermissionsRequest, ...grpc.CallOption) (*policyv1.GetPermissionsResponse,
	error,
) {
	return p.resp, p.err
}

func TestPermissionsAreThoseThatPolicyNames(t *testing.T) {
	got, err := access.Permissions(t.Context(), policy{resp: &policyv1.GetPermissionsResponse{Permissions: []string{"turns.*"}}},
		authn.User("ann"))
	if err != nil || !got.Decide("turns.create").Allowed || got.Decide("agents.create").Allowed {
		t.Errorf("got %+v, %v", got, err)
	}
	away := errors.New("policy is away")
	if _, err := access.Permissions(t.Context(), policy{err: away}, authn.User("ann")); !errors.Is(err, away) {
		t.Errorf("got %v", err)
	}
}

func TestWhatTheCallerMayNotSeeDoesNotExist(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	own := k.NewTurn("hello")
	for _, row := range []struct {
		name          string
		ctx           context.Context
		session, turn string
		found         bool
	}{
		{"the owner", k.Ctx(), own.SessionID, own.ID, true},
		{"an administrator", k.As("root", "admin"), own.SessionID, own.ID, true},
		{"a worker", k.Worker(), own.SessionID, own.ID, true},
		{"somebody else", k.As("eve"), own.SessionID, own.ID, false},
		{"another tenant", otherTenant(t), own.SessionID, own.ID, false},
		{"unknown names", k.Ctx(), "ses_none", "trn_none", false},
		{"names with NUL", k.Ctx(), "ses\x00", "trn\x00", false},
		{"no names", k.Ctx(), "", "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			ses, err := k.Access.Session(row.ctx, row.session)
			turn, of, errTurn := k.Access.Turn(row.ctx, row.turn)
			if row.found {
				if err != nil || errTurn != nil || ses.ID != own.SessionID || turn.ID != own.ID || of.ID != own.SessionID {
					t.Errorf("got %v, %v, %v", err, errTurn, turn)
				}
				return
			}
			k.WantFault(err, faultv1.Reason_REASON_NOT_FOUND)
			k.WantFault(errTurn, faultv1.Reason_REASON_NOT_FOUND)
			k.WantFault(k.Access.CheckSession(row.ctx, row.session), faultv1.Reason_REASON_NOT_FOUND)
			if turn.ID != "" || of.ID != "" {
				t.Errorf("a turn that does not exist is %+v of %+v", turn, of)
			}
		})
	}
}

// TestWhatIsHiddenLooksLikeWhatIsMissing: the error tells nothing about what others have.
func TestWhatIsHiddenLooksLikeWhatIsMissing(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	own := k.NewTurn("hello")
	_, hidden := k.Access.Session(k.As("eve"), own.SessionID)
	if want := access.NoSession(own.SessionID); hidden.Error() != want.Error() {
		t.Errorf("a hidden session is reported with %q, a missing one with %q", hidden, want)
	}
	_, _, hidden = k.Access.Turn(k.As("eve"), own.ID)
	if want := access.NoTurn(own.ID); hidden.Error() != want.Error() {
		t.Errorf("a hidden turn is reported with %q, a missing one with %q", hidden, want)
	}
}

func TestATurnThatWasDeletedMeanwhileHasNoInput(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	own := k.NewTurn("hello")
	in, err := k.Access.Input(k.Ctx(), own)
	k.Must(err)
	if in.Input != "hello" || in.Principal.GetSubject() != sessionstest.Owner {
		t.Errorf("the input is %+v", in)
	}
	_, err = k.Access.Input(k.Ctx(), store.Turn{Tenant: own.Tenant, ID: "trn_gone"})
	k.WantFault(err, faultv1.Reason_REASON_NOT_FOUND)
}

func TestADatabaseThatIsAwayIsNoMissingSession(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	own := k.NewTurn("hello")
	gone, cancel := context.WithCancel(k.Ctx())
	cancel()
	_, err := k.Access.Session(gone, own.SessionID)
	_, _, errTurn := k.Access.Turn(gone, own.ID)
	_, errInput := k.Access.Input(gone, own)
	if i := slices.IndexFunc([]error{err, errTurn, errInput}, func(err error) bool { return !errors.Is(err, context.Canceled) }); i >= 0 {
		t.Errorf("got %v, %v and %v", err, errTurn, errInput)
	}
}

func otherTenant(t *testing.T) context.Context {
	p := authn.User(sessionstest.Owner, "admin")
	p.Tenant = "other"
	return authn.With(t.Context(), p)
}
