//go:build unix

package serve

import (
	"slices"
	"testing"

	"github.com/windlass-dev/windlass/internal/embedded"
)

func TestAKilledProcessTakesItsAddressesAgain(t *testing.T) {
	r := embedded.Ready{URL: "http://127.0.0.1:81", GRPC: "127.0.0.1:91", Temporal: "127.0.0.1:71", TemporalUI: "http://127.0.0.1:72"}
	args := []string{"up", "--http-addr", "127.0.0.1:0"}
	own := append(slices.Clone(args), "--http-addr", "127.0.0.1:81", "--grpc-addr", "127.0.0.1:91")
	if got := withAddresses(args, r); !slices.Equal(got, own) {
		t.Errorf("with a Temporal of its own cluster: %q", got)
	}
	r.TemporalPID, r.Issuer = 7, "http://127.0.0.1:61"
	own = append(own, "--issuer-addr", "127.0.0.1:61")
	own = append(own, "--temporal-addr", "127.0.0.1:71", "--temporal-ui-addr", "127.0.0.1:72")
	if got := withAddresses(args, r); !slices.Equal(got, own) {
		t.Errorf("with an embedded one: %q", got)
	}
}
