package authz

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/testmain"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// policyFake answers by subject.
type policyFake struct {
	policyv1.PolicyServiceClient
	mu      sync.Mutex
	globs   map[string][]string
	away    error
	maxAge  time.Duration
	delay   time.Duration
	asked   int
	denials int
}

func (f *policyFake) GetPermissions(ctx context.Context, req *policyv1.GetPermissionsRequest,
	_ ...grpc.CallOption,
) (*policyv1.GetPermissionsResponse, error) {
	f.mu.Lock()
	f.asked++
	delay, away := f.delay, f.away
	resp := &policyv1.GetPermissionsResponse{Permissions: f.globs[req.GetPrincipal().GetSubject()], MaxAge: durationpb.New(f.maxAge)}
	f.mu.Unlock()
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return resp, away
}

func (f *policyFake) RecordDenial(ctx context.Context, _ *policyv1.RecordDenialRequest, _ ...grpc.CallOption) (*policyv1.Decision, error) {
	<-ctx.Done() // policy hangs
	f.mu.Lock()
	defer f.mu.Unlock()
	f.denials++
	return nil, ctx.Err()
}

func (f *policyFake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *policyFake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

func allow(t *testing.T, a *Authorizer, p *policyv1.Principal, permission string) bool {
	t.Helper()
	v, err := a.Decide(t.Context(), p, permission)
	if err != nil {
		t.Fatal(err)
	}
	return v.Allowed
}

func TestAnswersAreCachedForTheirAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &policyFake{globs: map[string][]string{"alice": {"a.*", "!a.b.*"}}, maxAge: time.Second}
		a := New(f, Config{})
		for range 100 {
			if !allow(t, a, authn.User("alice"), "a.c.d") || allow(t, a, authn.User("alice"), "a.b.c") || allow(t, a, authn.User("alice"), "x") {
				t.Fatal("wrong answer")
			}
		}
		if f.count() != 1 {
			t.Errorf("asked %d times", f.count())
		}
		if allow(t, a, authn.User("alice", "admin"), "x") || f.count() != 2 {
			t.Error("other roles are another question")
		}
		f.set(func() { f.globs["alice"] = nil })
		if !allow(t, a, authn.User("alice"), "a.c.d") {
			t.Error("the answer is not a second old")
		}
		time.Sleep(1001 * time.Millisecond) // the bubble's clock
		if allow(t, a, authn.User("alice"), "a.c.d") {
			t.Error("a revocation must hold after a second")
		}
	})
}

func TestStaleAnswersServeWhilePolicyIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &policyFake{globs: map[string][]string{"alice": {"a"}}, maxAge: 2 * time.Second}
		a := New(f, Config{})
		allow(t, a, authn.User("alice"), "a")
		f.set(func() { f.away = errors.New("away") })
		if _, err := a.Decide(t.Context(), authn.User("bob"), "a"); fault.CodeOf(err) != "unavailable" {
			t.Errorf("nothing is known of bob: %v", err)
		}
		time.Sleep(20 * time.Second)
		before := f.count()
		for range 50 {
			if !allow(t, a, authn.User("alice"), "a") {
				t.Fatal("stale answer is gone")
			}
		}
		if asked := f.count() - before; asked != 1 {
			t.Errorf("a policy that is away was asked %d times at once", asked)
		}
		time.Sleep(13 * time.Second) // 33 s after the answer: 2 s fresh, 30 s stale
		if _, err := a.Decide(t.Context(), authn.User("alice"), "a"); fault.CodeOf(err) != "unavailable" {
			t.Errorf("too old: %v", err)
		}
		f.set(func() { f.away = nil })
		if !allow(t, a, authn.User("alice"), "a") {
			t.Error("policy is back")
		}
	})
}

func TestOneQuestionForManyCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &policyFake{globs: map[string][]string{"alice": {"a"}}, delay: time.Second}
		a := New(f, Config{})
		impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() { // the first caller gives up first; the others still get the answer
			if _, err := a.Decide(impatient, authn.User("alice"), "a"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("impatient: %v", err)
			}
		})
		synctest.Wait()
		for range 20 {
			all.Go(func() {
				if v, err := a.Decide(t.Context(), authn.User("alice"), "a"); !v.Allowed || err != nil {
					t.Errorf("%+v, %v", v, err)
				}
			})
		}
		all.Wait()
		if f.count() != 1 {
			t.Errorf("asked %d times", f.count())
		}
	})
}

func TestMemoryIsBounded(t *testing.T) {
	a := New(&policyFake{globs: map[string][]string{}}, Config{Entries: 10})
	for i := range 100 {
		allow(t, a, authn.User("user-"+strconv.Itoa(i)), "a")
	}
	if n := a.entries.Len(); n != 10 {
		t.Errorf("%d entries", n)
	}
}

// TestRecordDeniedWaitsForAMoment: a refusal waits until it is on record, but not long for a policy that hangs, and further refusals are
// dropped then.
func TestRecordDeniedWaitsForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &policyFake{}
		a := New(f, Config{})
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() {
				began := time.Now()
				a.RecordDenied(t.Context(), authn.User("eve"), "a", "/m")
				if d := time.Since(began); d > denialWait {
					t.Errorf("it waited for %s", d)
				}
			})
		}
		all.Wait()
		time.Sleep(time.Minute)
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.denials != denialsInFlight {
			t.Errorf("%d refusals were on their way at once", f.denials)
		}
	})
}

func BenchmarkAllow(b *testing.B) {
	a := New(&policyFake{globs: map[string][]string{"alice": {"sessions.*", "registry.tools.*"}}, maxAge: time.Hour}, Config{})
	p := authn.User("alice", "reader", "writer")
	for b.Loop() {
		if v, err := a.Decide(b.Context(), p, "registry.tools.list"); !v.Allowed || err != nil {
			b.Fatal(v, err)
		}
	}
}

// TestForget: after a change the next decision asks again, and an answer that was on its way is used once only.
func TestForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &policyFake{globs: map[string][]string{"bob": {"a.*"}}, maxAge: time.Hour}
		a := New(f, Config{})
		may := func() bool {
			t.Helper()
			v, err := a.Decide(t.Context(), authn.User("bob"), "a.b")
			if err != nil {
				t.Fatal(err)
			}
			return v.Allowed
		}
		if first, second := may(), may(); !first || !second || f.count() != 1 {
			t.Errorf("asked %d times", f.count())
		}
		f.set(func() { f.globs["bob"] = nil })
		a.Forget("another")
		if !may() || f.count() != 1 {
			t.Errorf("another tenant's change: asked %d times", f.count())
		}
		a.Forget(authn.DefaultTenant)
		if may() || f.count() != 2 {
			t.Errorf("after the change: asked %d times", f.count())
		}
		f.set(func() { f.globs["bob"], f.delay = []string{"a.*"}, time.Second })
		a.Forget("")
		answer := make(chan bool)
		go func() { answer <- may() }()
		synctest.Wait() // the answer has been made, and is on its way
		f.set(func() { f.globs["bob"] = nil })
		a.Forget("")
		if !<-answer {
			t.Error("the answer of before the change")
		}
		if may() {
			t.Error("it is used again")
		}
		f.set(func() { f.away = errors.New("away") })
		a.Forget("")
		if may() {
			t.Error("while policy is away")
		}
	})
}
