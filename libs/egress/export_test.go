package egress

import "context"

// Check asks what the dialer asks before it connects to an address of a name nobody vouched for.
func Check(e *Egress, address string) error {
	return e.checked.ControlContext(context.Background(), "tcp", address, nil)
}
