package execute

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/services/registry/source"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

func aRequest(args string) *request {
	return newRequest(Call{Principal: authn.Local(), Tenant: "default", Tool: "n__a", Arguments: []byte(args), Key: "k"})
}

// TestJoiningAFlightThatIsGivenUp: a caller that joins between the last caller's leaving and the end starts again after the end.
func TestJoiningAFlightThatIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFlights()
		defer s.close(0)
		first, leader, err := s.join(t.Context(), aRequest(`{}`))
		if !leader || err != nil {
			t.Fatal(leader, err)
		}
		first.leave()
		if first.bind() || !errors.Is(first.whyGivenUp(), errAbandoned) {
			t.Error("it is not given up")
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := s.join(impatient, aRequest(`{}`)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an impatient caller: %v", err)
		}
		joined := make(chan *flight)
		go func() {
			f, leader, err := s.join(t.Context(), aRequest(``)) // the same arguments in other JSON
			if !leader || err != nil {
				t.Error(leader, err)
			}
			joined <- f
		}()
		synctest.Wait()
		s.end(first, Outcome{}, errAbandoned)
		second := <-joined
		if second == first {
			t.Error("the old flight was joined")
		}
		s.end(second, Outcome{}, nil)
	})
}

func TestABoundFlightRunsOnAlone(t *testing.T) {
	s := newFlights()
	f, _, err := s.join(t.Context(), aRequest(`{}`))
	if err != nil || !f.bind() {
		t.Fatal(err)
	}
	f.leave()
	if f.whyGivenUp() != nil {
		t.Error("it was given up")
	}
	if _, _, err := s.join(t.Context(), aRequest(`{"a":1}`)); fault.CodeOf(err) != "idempotency_conflict" {
		t.Errorf("other arguments: %v", err)
	}
	s.end(f, Outcome{}, nil)
	s.close(time.Hour)
	s.close(time.Hour) // a second close does nothing
	if _, _, err := s.join(t.Context(), aRequest(`{}`)); fault.CodeOf(err) != "unavailable" {
		t.Errorf("after close: %v", err)
	}
}

// TestProgressIsBounded: a slow caller sees the last of many progress events, never out of order.
func TestProgressIsBounded(t *testing.T) {
	s := newFlights()
	defer s.close(0)
	f, _, err := s.join(t.Context(), aRequest(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	f.tell(Event{Decided: &Decision{ID: "dec_1"}})
	for i := range 10_000 {
		f.tell(Event{Progress: &source.Progress{Done: float64(i)}})
	}
	s.end(f, Outcome{Code: "x"}, nil)
	var seen []Event
	out, err := f.follow(t.Context(), func(e Event) error {
		seen = append(seen, e)
		return nil
	})
	if err != nil || out.Code != "x" || len(seen) != 2 || seen[0].Decided == nil || seen[1].Progress.Done != 9999 {
		t.Errorf("%v, %v, %v", seen, out, err)
	}
	broken := errors.New("the caller's stream broke")
	if _, err := f.follow(t.Context(), func(Event) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("a caller that cannot be told: %v", err)
	}
}

// TestAFlightThatIsGivenUpCancelsItsCall: whether the call has started already or starts later.
func TestAFlightThatIsGivenUpCancelsItsCall(t *testing.T) {
	s := newFlights()
	f, _, err := s.join(t.Context(), aRequest(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	running, cancel := f.start(t.Context())
	defer cancel()
	f.stop()
	f.giveUp(errAbandoned)
	if running.Err() == nil || fault.CodeOf(f.whyGivenUp()) != "cancelled" {
		t.Errorf("the call runs on: %v, given up because of %v", running.Err(), f.whyGivenUp())
	}
	late, cancel := f.start(t.Context())
	defer cancel()
	if late.Err() == nil {
		t.Error("a call that starts later runs on")
	}
	s.end(f, Outcome{}, f.whyGivenUp())
	s.close(0)
}

// TestClosingGivesUpWhatDoesNotEnd: calls get the time that close was given, and are cancelled then.
func TestClosingGivesUpWhatDoesNotEnd(t *testing.T) {
	s := newFlights()
	f, _, err := s.join(t.Context(), aRequest(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	running, cancel := f.start(t.Context())
	defer cancel()
	go func() {
		<-running.Done()
		s.end(f, Outcome{}, f.whyGivenUp())
	}()
	s.close(0)
	if _, err := f.follow(t.Context(), nil); fault.CodeOf(err) != "unavailable" {
		t.Errorf("got %v", err)
	}
}
