package egress_test

import (
	"errors"
	"testing"

	"github.com/windlass-dev/windlass/libs/egress"
)

func TestHostsThatAreRefusedEarly(t *testing.T) {
	local, public := newEgress(t, egress.Config{Profile: egress.Local}),
		newEgress(t, egress.Config{Profile: egress.Public, AllowHosts: []string{"10.0.0.7"}})
	for host, allowed := range map[string][2]bool{
		"127.0.0.1": {true, false}, "localhost": {true, false}, "LOCALHOST.": {true, false}, "x.localhost": {true, false},
		"10.0.0.1": {true, false}, "10.0.0.7": {true, true}, "::1": {true, false}, "[fd00::1]": {true, false},
		"93.184.216.34": {true, true}, "example.com": {true, true}, "169.254.169.254": {false, false}, "fe80::1%eth0": {false, false},
	} {
		for i, e := range []*egress.Egress{local, public} {
			var denied *egress.DeniedError
			if err := e.CheckHost(host); (err == nil) != allowed[i] || err != nil && !errors.As(err, &denied) {
				t.Errorf("%s: %v, want allowed %v", host, err, allowed)
			}
		}
	}
}
