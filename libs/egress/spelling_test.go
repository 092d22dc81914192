package egress_test

import (
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/egress/egresstest"
)

// TestS7NoSpellingOfAPrivateAddressIsDialled: neither an address nor a name that resolves to one.
func TestS7NoSpellingOfAPrivateAddressIsDialled(t *testing.T) {
	trap := egresstest.NewTrap(t)
	c := egresstest.Public(t, nil).Client(egress.Options{})
	hosts := egresstest.Hosts()
	for _, host := range hosts {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, trap.URL(host), nil)
		if err != nil {
			continue // no URL
		}
		if res, err := c.Do(req); err == nil {
			res.Body.Close()
			t.Errorf("%s answered %s", host, res.Status)
		}
		if n := trap.Accepted(); n > 0 {
			t.Errorf("%s was connected to", host)
		}
	}
	t.Logf("%d spellings", len(hosts))
	open := newEgress(t, egress.Config{Profile: egress.Local}).Client(egress.Options{})
	if _, err := get(t, open, trap.URL("127.0.0.1")); err != nil || trap.Accepted() != 1 {
		t.Errorf("the trap cannot be reached at all: %v", err)
	}
}

// TestS8ANameIsCheckedEachTimeItIsDialled: a name that was public when it was first resolved is private later.
func TestS8ANameIsCheckedEachTimeItIsDialled(t *testing.T) {
	trap := egresstest.NewTrap(t)
	var moved atomic.Bool
	e := egresstest.Public(t, func(string) netip.Addr {
		if moved.Load() {
			return netip.MustParseAddr("127.0.0.1")
		}
		return egresstest.Inside
	})
	c := e.Client(egress.Options{})
	if _, err := get(t, c, trap.URL("rebinding.example")); err != nil || trap.Accepted() != 1 {
		t.Fatalf("while it is public: %v", err)
	}
	e.CloseIdle()
	moved.Store(true)
	if _, err := get(t, c, trap.URL("rebinding.example")); err == nil || trap.Accepted() != 0 {
		t.Errorf("when it is private: %v", err)
	}
}
