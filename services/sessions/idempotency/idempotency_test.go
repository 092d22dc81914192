package idempotency_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/testmain"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/sessions/idempotency"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

func once(t *testing.T, ctx context.Context, method, key, body string) store.Once {
	t.Helper()
	o, err := idempotency.Of(ctx, method, key, wrapperspb.String(body))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// name is what a key is looked up by.
func name(o store.Once) [4]string { return [4]string{o.Tenant, o.Subject, o.Method, o.Key} }

func TestAKeyIsItsCallersAndItsMethods(t *testing.T) {
	ann, bob := authn.With(t.Context(), authn.User("ann")), authn.With(t.Context(), authn.User("bob"))
	p := authn.User("ann")
	p.Tenant = "other"
	elsewhere := authn.With(t.Context(), p)
	first := once(t, ann, "create", "key", "body")
	if name(first) != name(once(t, ann, "create", "key", "another body")) {
		t.Error("the body names the request")
	}
	for what, o := range map[string]store.Once{
		"another caller": once(t, bob, "create", "key", "body"), "another tenant": once(t, elsewhere, "create", "key", "body"),
		"another method": once(t, ann, "delete", "key", "body"), "another key": once(t, ann, "create", "Key", "body"),
	} {
		if name(first) == name(o) {
			t.Errorf("%s has the same name", what)
		}
	}
	if first.Hash == once(t, ann, "create", "key", "another body").Hash || first.Hash != once(t, bob, "create", "key", "body").Hash {
		t.Error("the hash is not that of the body")
	}
}

func TestNeitherKeyNorBodyCanBeReadFromWhatIsKept(t *testing.T) {
	o := once(t, authn.With(t.Context(), authn.User("ann")), "create", "a secret key", "a secret body")
	if len(o.Key) != 64 || len(o.Hash) != 64 {
		t.Errorf("kept are %q and %q", o.Key, o.Hash)
	}
}

func TestARequestWithoutAKeyIsNotRemembered(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	o := once(t, k.Ctx(), "create", "", "body")
	if o != (store.Once{}) {
		t.Errorf("it is kept as %+v", o)
	}
	for range 2 {
		if found, added := remember(k, o); !added || found != o {
			t.Errorf("got %+v, %t", found, added)
		}
	}
	if _, found, err := k.Keys.Earlier(k.Ctx(), o); found || err != nil {
		t.Errorf("it was made before: %v", err)
	}
}

func remember(k *sessionstest.Kit, o store.Once) (found store.Once, added bool) {
	k.Helper()
	k.Must(k.Journal.Write(k.Ctx(), func(tx *journal.Tx) (err error) {
		found, added, err = k.Keys.Remember(tx, o)
		return err
	}))
	return found, added
}

func TestTheSameRequestAgainMakesWhatTheFirstOneMade(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	o := once(t, k.Ctx(), "create", "key", "body")
	if _, found, err := k.Keys.Earlier(k.Ctx(), o); found || err != nil {
		t.Fatalf("it was made before: %v", err)
	}
	o.TurnID = "trn_1"
	if _, added := remember(k, o); !added {
		t.Fatal("the first request was made before")
	}
	o.TurnID = "trn_2"
	if found, added := remember(k, o); added || found.TurnID != "trn_1" {
		t.Errorf("the second request got %+v, %t", found, added)
	}
	if earlier, found, err := k.Keys.Earlier(k.Ctx(), o); !found || err != nil || earlier.TurnID != "trn_1" {
		t.Errorf("got %+v, %t, %v", earlier, found, err)
	}
}

func TestAnotherRequestWithTheKeyIsAConflict(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	remember(k, once(t, k.Ctx(), "create", "key", "body"))
	other := once(t, k.Ctx(), "create", "key", "another body")
	_, found, err := k.Keys.Earlier(k.Ctx(), other)
	k.WantFault(err, faultv1.Reason_REASON_IDEMPOTENCY_CONFLICT)
	if found {
		t.Error("another request's answer is given")
	}
	k.WantFault(k.Journal.Write(k.Ctx(), func(tx *journal.Tx) error {
		_, _, err := k.Keys.Remember(tx, other)
		return err
	}), faultv1.Reason_REASON_IDEMPOTENCY_CONFLICT)
}

func TestAKeyIsFreeAgainAfterItsAge(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	remember(k, once(t, k.Ctx(), "create", "key", "body"))
	other := once(t, k.Ctx(), "create", "key", "another body")
	k.Clock.Advance(sessionstest.Age - time.Microsecond)
	if _, _, err := k.Keys.Earlier(k.Ctx(), other); err == nil {
		t.Fatal("the key is free before its age")
	}
	k.Clock.Advance(time.Microsecond)
	if _, found, err := k.Keys.Earlier(k.Ctx(), other); found || err != nil {
		t.Fatalf("the key is not free after its age: %v", err)
	}
	if _, added := remember(k, other); !added {
		t.Error("another request cannot take the key")
	}
	remember(k, other) // it is remembered from now on
}

func TestAKeyStandsOnlyWithWhatItMade(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	o, failed := once(t, k.Ctx(), "create", "key", "body"), errors.New("the rest fails")
	if err := k.Journal.Write(k.Ctx(), func(tx *journal.Tx) error {
		if _, added, err := k.Keys.Remember(tx, o); err != nil || !added {
			t.Errorf("got %t, %v", added, err)
		}
		return failed
	}); !errors.Is(err, failed) {
		t.Fatal(err)
	}
	if _, added := remember(k, o); !added {
		t.Error("the key of a request that failed is taken")
	}
}

func TestOneOfManyEqualRequestsIsFirst(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	o := once(t, k.Ctx(), "create", "key", "body")
	var all sync.WaitGroup
	made := make(chan string, 8)
	for _, id := range []string{"trn_1", "trn_2", "trn_3", "trn_4", "trn_5", "trn_6", "trn_7", "trn_8"} {
		all.Go(func() {
			mine := o
			mine.TurnID = id
			err := k.Journal.Write(k.Ctx(), func(tx *journal.Tx) error {
				found, added, err := k.Keys.Remember(tx, mine)
				if added {
					found = mine
				}
				mine = found
				return err
			})
			if err != nil {
				t.Error(err)
			}
			made <- mine.TurnID
		})
	}
	all.Wait()
	close(made)
	first := <-made
	for id := range made {
		if id != first {
			t.Errorf("equal requests made %s and %s", first, id)
		}
	}
}

// TestARequestIsTheSameButForItsKey: the hash is that of the request without its key and without what is left out, as earlier
// versions stored it.
func TestARequestIsTheSameButForItsKey(t *testing.T) {
	ctx := authn.With(t.Context(), authn.User("ann"))
	bare := &sessionsv1.ChatRequest{Message: "hello"}
	want, err := idempotency.Of(ctx, "chat", "key", bare)
	if err != nil {
		t.Fatal(err)
	}
	sent := &sessionsv1.ChatRequest{Message: "hello", IdempotencyKey: "key", Wait: durationpb.New(time.Second)}
	got, err := idempotency.OfRequest(ctx, "chat", sent, "wait")
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if sent.GetIdempotencyKey() != "key" || sent.GetWait() == nil {
		t.Errorf("the request was changed: %v", sent)
	}
	if other, err := idempotency.OfRequest(ctx, "chat", sent); err != nil || other.Hash == want.Hash {
		t.Errorf("the wait does not count: %+v, %v", other, err)
	}
	if none, err := idempotency.OfRequest(ctx, "chat", bare); err != nil || none != (store.Once{}) {
		t.Errorf("without a key: %+v, %v", none, err)
	}
}
