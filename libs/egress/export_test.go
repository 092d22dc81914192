package egress

import "context"

// Check runs the check that the dialer runs before it connects to an address, for a name that is not in AllowHosts.
func Check(e *Egress, address string) error {
	return e.checked.ControlContext(context.Background(), "tcp", address, nil)
}
