package assembly

import (
	"errors"
	"fmt"

	"github.com/windlass-dev/windlass/libs/meshtls"
	"github.com/windlass-dev/windlass/libs/rpc"
)

// Modes of MeshTLSConfig.
const (
	// TLSRequired is the default.
	TLSRequired = "required"
	// TLSAccept takes calls of processes that do not use TLS, and makes such calls.
	TLSAccept = "accept"
)

// MeshTLSConfig secures the connections between processes of a mesh.
type MeshTLSConfig struct {
	// Mode is TLSRequired or TLSAccept.
	Mode       string `yaml:"mode" default:"required" doc:"required: processes call each other over TLS 1.3 and show a certificate that names their roles. accept: calls in clear text are accepted too, and this process makes its calls in clear text; for upgrades, and for networks that encrypt by themselves."`
	Cert       string `yaml:"cert" doc:"PEM file with the certificate of this process, which has a URI spiffe://windlass/ROLE for each of its roles. Empty: certificates derived from mesh.key, valid for a day. The files are read again when they change."`
	Key        string `yaml:"key" doc:"PEM file with the certificate's private key."`
	CA         string `yaml:"ca" doc:"PEM file with the authorities whose certificates are accepted."`
	ServerName string `yaml:"server_name" doc:"Name that the certificates of called processes must have besides the URI of the role. Empty: the host in mesh.targets; a changed mesh.tls.ca then needs a restart."`
}

// certificates returns the source of the certificates of a process with these roles.
func (c MeshConfig) certificates(roles []string) (meshtls.Source, error) {
	switch c.TLS.Mode {
	case TLSRequired, TLSAccept:
	default:
		return nil, fmt.Errorf("mesh.tls.mode %q: use %s or %s", c.TLS.Mode, TLSRequired, TLSAccept)
	}
	if c.TLS.Cert != "" || c.TLS.Key != "" || c.TLS.CA != "" {
		files, err := meshtls.FromFiles(c.TLS.Cert, c.TLS.Key, c.TLS.CA, c.TLS.ServerName)
		if err != nil {
			return nil, fmt.Errorf("mesh.tls: %w", err)
		}
		return files, nil
	}
	if c.TLS.ServerName != "" { // somebody meant to have certificates, and must not get derived ones
		return nil, errors.New("mesh.tls.server_name is set, but no certificate: set mesh.tls.cert, mesh.tls.key and mesh.tls.ca")
	}
	derived, err := meshtls.FromKey([]byte(c.Key.Reveal()), roles...)
	if err != nil {
		return nil, fmt.Errorf("mesh.key: %w", err)
	}
	return derived, nil
}

// Network returns the network between processes for one with these roles.
func (c MeshConfig) Network(roles []string) (rpc.TCP, error) {
	n := rpc.TCP{Listeners: c.Listen, Targets: c.Targets}
	if c.TLS.Mode == TLSAccept {
		return n, nil
	}
	var err error
	n.TLS, err = c.certificates(roles)
	return n, err
}

// serverTLS returns how the server of a process knows the roles that call it.
func (c MeshConfig) serverTLS(roles []string) (*rpc.ServerTLS, error) {
	source, err := c.certificates(roles)
	if err != nil {
		return nil, err
	}
	return &rpc.ServerTLS{Source: source, Callers: callers(), Accept: c.TLS.Mode == TLSAccept}, nil
}

// callers maps each service to the roles that call it. The gateway passes on calls of users; so do the registry for tools that are agents
// and sessions for bundles, and knowledge for sources of banks. A service that is missing has no caller in another process.
func callers() map[string][]string {
	out := map[string][]string{
		"windlass.policy.v1.PolicyService":          {Gateway, Sessions, Registry, Inference, MCPBridge, Worker, Knowledge},
		"windlass.policy.v1.AuditService":           {Gateway, Sessions, Registry, Inference, MCPBridge, Worker, Knowledge},
		"windlass.login.v1.LoginService":            {Gateway},
		"windlass.policy.v1.SecretService":          {Gateway, Sessions, Registry, Inference, MCPBridge, Worker},
		"windlass.policy.v1.ConnectionService":      {Gateway, Sessions, Registry, MCPBridge, Worker},
		"windlass.policy.v1.GrantService":           {Gateway, Sessions, Registry, Worker},
		"windlass.policy.v1.AccessPolicyService":    {Gateway, Sessions},
		"windlass.policy.v1.QuotaService":           {Gateway, Sessions, Registry, Inference, MCPBridge, Worker, Knowledge},
		"windlass.inference.v1.InferenceService":    {Gateway, Sessions, Policy, Worker, Knowledge},
		"windlass.mcpbridge.v1.BridgeService":       {Registry},
		"windlass.registry.v1.SourceService":        {Gateway, Sessions, Policy},
		"windlass.registry.v1.ToolGroupService":     {Gateway, Sessions, Policy},
		"windlass.registry.v1.ServerService":        {Gateway, Knowledge},
		"windlass.registry.v1.ToolService":          {Gateway, Sessions},
		"windlass.registry.v1.ToolExecutionService": {Sessions, Worker},
		"windlass.registry.v1.EventLogService":      {Sessions},
		"windlass.policyevents.v1.EventLogService":  {Sessions},
		"windlass.execution.v1.ExecutionService":    {Worker, Policy},
		"windlass.knowledge.v1.SearchService":       {Gateway, Registry},
		"windlass.knowledge.v1.IngestionService":    {Worker},
		"windlass.sessions.v1.AgentService":         {Gateway, Registry},
		"windlass.sessions.v1.SessionService":       {Gateway, Registry},
		"windlass.sessions.v1.ArtifactService":      {Gateway, Registry},
		"windlass.sessions.v1.FileService":          {Gateway},
		"windlass.knowledge.v1.MemoryService":       {Gateway},
		"windlass.knowledge.v1.RecallService":       {Registry, Sessions, Worker},
		"windlass.health.v1.HealthService":          {Gateway},
		"windlass.sessions.v1.TurnService":          {Gateway, Registry},
		"windlass.knowledge.v1.DocumentService":     {Gateway, Registry},
	}
	for _, service := range []string{
		"registry.v1.ToolCacheService", "registry.v1.ToolAnalyticsService", "sessions.v1.ApprovalService",
		"sessions.v1.BudgetService", "sessions.v1.EventService", "sessions.v1.ScheduleService", "sessions.v1.SessionAnalyticsService",
		"sessions.v1.WebhookService", "sessions.v1.ShareService", "knowledge.v1.BankService", "knowledge.v1.BankSourceService",
	} {
		out["windlass."+service] = []string{Gateway}
	}
	return out
}
