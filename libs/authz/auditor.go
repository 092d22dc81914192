package authz

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/fault"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

const (
	// recordPatience is how long a record is tried again while policy is away.
	recordPatience = 5 * time.Second
	// loginsInFlight limits the logins that are being recorded; further ones are recorded when the token is verified again.
	loginsInFlight = 16
)

// Auditor records in the audit trail of policy. It is safe for concurrent use.
type Auditor struct {
	clients map[string]policyv1.AuditServiceClient
	other   policyv1.AuditServiceClient
	logins  chan struct{}
	log     *slog.Logger
}

// NewAuditor returns an auditor. It calls policy as the role whose method was called, with the client of that role, else with other.
func NewAuditor(clients map[string]policyv1.AuditServiceClient, other policyv1.AuditServiceClient, log *slog.Logger) *Auditor {
	return &Auditor{clients: clients, other: other, logins: make(chan struct{}, loginsInFlight), log: log}
}

// Record commits a record before it returns. While policy is away it tries again for some seconds.
func (a *Auditor) Record(ctx context.Context, method string, rec *policyv1.RecordAuditRequest) error {
	client := a.other
	if parts := strings.Split(strings.TrimPrefix(method, "/"), "."); len(parts) > 1 && a.clients[parts[1]] != nil {
		client = a.clients[parts[1]]
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordPatience)
	defer cancel()
	pauses := backoff.Policy{First: 20 * time.Millisecond, Max: time.Second}.Start()
	for {
		_, err := client.RecordAudit(ctx, rec)
		switch {
		case err == nil:
			return nil
		case !fault.Retryable(err) || pauses.Wait(ctx) != nil:
			return err
		}
	}
}

// Login records in the background that a token is used for the first time. Servers report a token repeatedly; it is recorded once.
func (a *Auditor) Login(ctx context.Context, p *policyv1.Principal, token [sha256.Size]byte) {
	select {
	case a.logins <- struct{}{}:
	default:
		return
	}
	sum := sha256.Sum256(append([]byte("audit record of the first use of a token "), token[:]...))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordPatience)
	go func() {
		defer func() { <-a.logins }()
		defer cancel()
		_, err := a.other.RecordAudit(ctx, &policyv1.RecordAuditRequest{
			Principal: p, Action: "login", Resource: p.GetIssuer(), Outcome: policyv1.AuditOutcome_AUDIT_OUTCOME_DONE,
			Reason: "first use of a token", Id: "aud_" + hex.EncodeToString(sum[:13]),
		})
		if err != nil {
			a.log.WarnContext(ctx, "login not recorded", "subject", p.GetSubject(), "error", err)
		}
	}()
}
