package wait_test

import (
	"slices"
	"testing"

	"github.com/windlass-dev/windlass/libs/authn"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

const (
	login      = turnv1.AuthorizationKind_AUTHORIZATION_KIND_LOGIN
	connection = turnv1.AuthorizationKind_AUTHORIZATION_KIND_CONNECTION
)

func authorization(kind turnv1.AuthorizationKind, source string) *store.WaitRequest {
	r := request(turnv1.WaitKind_WAIT_KIND_AUTHORIZATION)
	r.Authorization = &turnv1.Authorization{Source: source, Kind: kind, Scopes: []string{"read", source}}
	return r
}

func TestAnAuthorizationEndsTheWaitsForIt(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	byLogin := k.Wait(own, "tool-1.1", authorization(login, "a"))
	connectA := k.Wait(own, "tool-1.2", authorization(connection, "a"))
	connectB := k.Wait(own, "tool-1.3", authorization(connection, "b"))
	other := k.Wait(own, "tool-1.4", request(approval))
	open := func() (out []string) {
		for _, w := range []store.Wait{byLogin, connectA, connectB, other} {
			if read(k, w.ID).Open() {
				out = append(out, w.StepKey)
			}
		}
		return out
	}
	resolve := func(tenant, subject string, kind turnv1.AuthorizationKind, source string, want int) {
		t.Helper()
		if n, err := k.Waits.Authorized(k.Ctx(), tenant, subject, kind, source); err != nil || n != want {
			t.Errorf("%s of %s/%s for %q: %d waits ended, %v", kind, tenant, subject, source, n, err)
		}
	}
	resolve(authn.DefaultTenant, "mallory", login, "", 0)
	resolve("other", own.Subject, login, "", 0)
	resolve(authn.DefaultTenant, own.Subject, connection, "c", 0)
	resolve(authn.DefaultTenant, own.Subject, login, "", 1)
	resolve(authn.DefaultTenant, own.Subject, login, "", 0)
	resolve(authn.DefaultTenant, own.Subject, connection, "b", 1)
	if got := open(); !slices.Equal(got, []string{"tool-1.2", "tool-1.4"}) {
		t.Errorf("open: %q", got)
	}
	resolve(authn.DefaultTenant, own.Subject, connection, "", 1)
	if w := read(k, byLogin.ID); w.Verdict != turnv1.Verdict_VERDICT_ANSWERED {
		t.Errorf("it ended as %v", w.Verdict)
	}
	if now := k.Read(own.ID); now.OpenWaits != 1 || now.WakeTime.IsZero() {
		t.Errorf("the turn is %+v", now)
	}
	for _, e := range k.Events(own.SessionID) {
		if r := e.GetAuthRequired(); r != nil && !slices.Equal(r.GetScopes(), []string{"read", r.GetSource()}) {
			t.Errorf("the event is %v", r)
		}
	}
	if got := k.Types(own.SessionID); !slices.Contains(got, "auth.required") || !slices.Contains(got, "auth.resolved") {
		t.Errorf("the journal has %q", got)
	}
}
