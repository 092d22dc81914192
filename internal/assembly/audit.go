package assembly

import (
	"context"
	"crypto/sha256"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authz"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// auditor records what the process's servers do; nothing in a process without roles that are called.
type auditor struct{ target *authz.Auditor }

// connectAuditor connects the process's auditor to policy, as each of its roles.
func (p *Process) connectAuditor(parts []component) error {
	clients := map[string]policyv1.AuditServiceClient{}
	var first policyv1.AuditServiceClient
	for _, c := range parts {
		if c.role == Bus {
			continue
		}
		conn, err := p.dial(Policy, authn.Service(c.role))
		if err != nil {
			return err
		}
		clients[c.role] = policyv1.NewAuditServiceClient(conn)
		if first == nil || c.role == Gateway { // who meets users first
			first = clients[c.role]
		}
	}
	if first != nil {
		p.auditor.target = authz.NewAuditor(clients, first, p.log)
	}
	return nil
}

// Record implements rpc.Auditor.
func (a *auditor) Record(ctx context.Context, method string, rec *policyv1.RecordAuditRequest) error {
	if a.target == nil {
		return nil
	}
	return a.target.Record(ctx, method, rec)
}

// login records that a token is used for the first time.
func (a *auditor) login(ctx context.Context, p *policyv1.Principal, token [sha256.Size]byte) {
	if a.target != nil {
		a.target.Login(ctx, p, token)
	}
}
