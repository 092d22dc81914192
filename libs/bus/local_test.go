package bus

import (
	"errors"
	"testing"
	"time"
)

// Subscribing during Close fails, or the subscription ends: nobody waits forever.
func TestSubscribeWhileTheBusIsClosed(t *testing.T) {
	for i := range 20 {
		b, err := Open(t.Context(), Config{URL: Embedded, Listen: []string{"", "127.0.0.1:0"}[i%2], Key: make([]byte, 32)})
		if err != nil {
			t.Fatal(err)
		}
		begun, over := make(chan struct{}), make(chan struct{})
		var made []*Subscription
		go func() {
			defer close(over)
			for {
				s, err := b.Subscribe("x", 1)
				if err != nil {
					if !errors.Is(err, ErrClosed) {
						t.Errorf("Subscribe = %v", err)
					}
					return
				}
				if made = append(made, s); len(made) == 1 {
					close(begun)
				}
			}
		}()
		<-begun
		if err := b.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-over
		for i, s := range made {
			select {
			case <-s.C():
			case <-time.After(time.Minute):
				t.Fatalf("subscription %d of %d waits for ever", i, len(made))
			}
		}
	}
}

// Messages queued for a member that has left are not handled.
func TestAMemberThatLeftIsNotCalled(t *testing.T) {
	for range 50 {
		w := &member{messages: make(chan Msg, 50), gone: make(chan struct{})}
		for range cap(w.messages) {
			w.deliver(Msg{})
		}
		calls := 0
		w.work(func(Msg) {
			calls++
			w.stop()
		})
		if calls != 1 {
			t.Fatalf("called %d times", calls)
		}
	}
}
