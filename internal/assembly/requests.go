package assembly

import (
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/quota"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// connectRequests connects the process's counter of requests to policy, as one of its roles.
func (p *Process) connectRequests(parts []component) error {
	as := ""
	for _, c := range parts {
		if c.role != Bus && (as == "" || c.role == Gateway) {
			as = c.role
		}
	}
	if as == "" {
		return nil
	}
	conn, err := p.dial(Policy, authn.Service(as))
	if err != nil {
		return err
	}
	p.requests = quota.NewCounter(policyv1.NewQuotaServiceClient(conn), p.log)
	return nil
}
