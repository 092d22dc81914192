package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/keyset"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/secret"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy"
)

func withVault() policy.Config {
	cfg := rules()
	cfg.Vault.MasterKey = secret.New(strings.Repeat("m", keyset.MinSecret))
	return cfg
}

func TestSecretsAreWrittenAndResolved(t *testing.T) {
	const canary = "canary-5b1e77"
	s := newService(t, withVault())
	conn := rpctest.Serve(t, "policy", func(r grpc.ServiceRegistrar) { s.Register(r) })
	c, decisions := policyv1.NewSecretServiceClient(conn), policyv1.NewPolicyServiceClient(conn)
	made, err := c.CreateSecret(t.Context(), &policyv1.CreateSecretRequest{Name: "crm", Value: "first", Description: "of the CRM"})
	if err != nil || made.GetVersion() != 1 || made.GetSetBy() == "" {
		t.Fatalf("created %v, %v", made, err)
	}
	_, err = c.CreateSecret(t.Context(), &policyv1.CreateSecretRequest{Name: "crm", Value: canary})
	if fault.CodeOf(err) != "already_exists" || strings.Contains(err.Error(), canary) {
		t.Errorf("created twice: %v", err)
	}
	if _, err := c.UpdateSecret(t.Context(), &policyv1.UpdateSecretRequest{Name: "crm", Value: canary}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.RotateSecrets(t.Context(), &policyv1.RotateSecretsRequest{}); err != nil {
		t.Fatal(err)
	}
	_, err = c.ResolveSecret(t.Context(), &policyv1.ResolveSecretRequest{Tenant: "default", Name: "crm"})
	if fault.CodeOf(err) != "permission_denied" {
		t.Errorf("resolved for a user who may do everything: %v", err)
	}
	role := policyv1.NewSecretServiceClient(asRegistry(t, s))
	got, err := role.ResolveSecret(t.Context(), &policyv1.ResolveSecretRequest{Tenant: "default", Name: "crm"})
	if err != nil || got.GetValue() != canary || got.GetVersion() != 2 {
		t.Errorf("resolved version %d, %v", got.GetVersion(), err)
	}
	_, err = role.ResolveSecret(t.Context(), &policyv1.ResolveSecretRequest{Tenant: "other", Name: "crm"})
	if fault.CodeOf(err) != "not_found" {
		t.Errorf("resolved for another tenant: %v", err)
	}
	list, err := c.ListSecrets(t.Context(), &policyv1.ListSecretsRequest{})
	if err != nil || len(list.GetSecrets()) != 1 || list.GetSecrets()[0].GetDescription() != "of the CRM" {
		t.Errorf("listed %v, %v", list, err)
	}
	audit, err := decisions.ListDecisions(t.Context(), &policyv1.ListDecisionsRequest{})
	if err != nil || len(audit.GetDecisions()) != 4 {
		t.Fatalf("decisions %v, %v", audit, err)
	}
	for i, want := range []string{"version 2 read", "encrypted with data key", "set to version 2", "created"} {
		d := audit.GetDecisions()[i]
		if !strings.HasPrefix(d.GetReason(), want) || d.GetKind() != policyv1.DecisionKind_DECISION_KIND_SECRET {
			t.Errorf("decision %d is %v, want %q", i, d, want)
		}
	}
	if _, err := c.DeleteSecret(t.Context(), &policyv1.DeleteSecretRequest{Name: "crm"}); err != nil {
		t.Error(err)
	}
	if _, err := c.GetSecret(t.Context(), &policyv1.GetSecretRequest{Name: "crm"}); fault.CodeOf(err) != "not_found" {
		t.Errorf("after it was deleted: %v", err)
	}
}

// asRegistry returns a connection that calls as a role.
func asRegistry(t *testing.T, s *policy.Service) grpc.ClientConnInterface {
	t.Helper()
	return rpctest.ServeAs(t, "policy", func(r grpc.ServiceRegistrar) { s.Register(r) }, rpctest.WithPrincipal(authn.Service("registry")))
}

// TestValuesAreNotInErrors: what is wrong with a request is said without its value.
func TestValuesAreNotInErrors(t *testing.T) {
	const canary = "canary-0d94aa"
	s := newService(t, rules())
	c := policyv1.NewSecretServiceClient(rpctest.Serve(t, "policy", func(r grpc.ServiceRegistrar) { s.Register(r) }))
	for name, req := range map[string]*policyv1.CreateSecretRequest{
		"no master key": {Name: "crm", Value: canary},
		"a wrong name":  {Name: "crm key", Value: canary},
		"too long":      {Name: "crm", Value: strings.Repeat(canary, 10_000)},
	} {
		if _, err := c.CreateSecret(t.Context(), req); err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}

func TestMasterKeyFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "master.key")
	write := func(text string, mode os.FileMode) policy.Config {
		_ = os.Remove(file)
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		cfg := rules()
		cfg.Vault.MasterKeyFile = file
		return cfg
	}
	newService(t, write(strings.Repeat("m", keyset.MinSecret)+"\n", 0o600))
	open := write(strings.Repeat("m", keyset.MinSecret), 0o644)
	if _, err := policy.New(open, depsOf(t)); err == nil || !strings.Contains(err.Error(), "mode 0644") {
		t.Errorf("a file for all: %v", err)
	}
	if _, err := policy.New(write("short", 0o600), depsOf(t)); err == nil || !strings.Contains(err.Error(), "at least 32") {
		t.Errorf("a short key: %v", err)
	}
	both := withVault()
	both.Vault.MasterKeyFile = file
	if _, err := policy.New(both, depsOf(t)); err == nil || !strings.Contains(err.Error(), "not both") {
		t.Errorf("two keys: %v", err)
	}
}

// kms is a key management service: a Master that counts, and can be away.
type kms struct {
	keyset.Master
	calls int
	err   error
}

func (k *kms) Seal(plain []byte, context string) ([]byte, error) {
	k.calls++
	if k.err != nil {
		return nil, k.err
	}
	return k.Master.Seal(plain, context)
}

func (k *kms) Open(sealed []byte, context string) ([]byte, error) {
	k.calls++
	if k.err != nil {
		return nil, k.err
	}
	return k.Master.Open(sealed, context)
}

// TestAKeyManagementServiceTakesOver: the data keys that a configured key encrypted are encrypted by the service from then on. It is asked
// for them once, not for each secret.
func TestAKeyManagementServiceTakesOver(t *testing.T) {
	own, err := keyset.Generate()
	if err != nil {
		t.Fatal(err)
	}
	service, deps := &kms{Master: own}, depsOf(t)
	use := func(cfg policy.Config) policyv1.SecretServiceClient {
		s, err := policy.New(cfg, deps)
		if err != nil {
			t.Fatal(err)
		}
		return policyv1.NewSecretServiceClient(asRegistry(t, s))
	}
	resolved := func(c policyv1.SecretServiceClient) string {
		got, err := c.ResolveSecret(t.Context(), &policyv1.ResolveSecretRequest{Tenant: "default", Name: "crm"})
		if err != nil {
			t.Fatal(err)
		}
		return got.GetValue()
	}
	if _, err := use(withVault()).CreateSecret(t.Context(), &policyv1.CreateSecretRequest{Name: "crm", Value: "kept"}); err != nil {
		t.Fatal(err)
	}
	deps.Master = service
	if got := resolved(use(withVault())); got != "kept" {
		t.Errorf("with both: %q", got)
	}
	c := use(rules())
	before := service.calls
	for range 3 {
		if got := resolved(c); got != "kept" {
			t.Errorf("with the service alone: %q", got)
		}
	}
	if service.calls != before {
		t.Errorf("the service was asked %d times for three secrets", service.calls-before)
	}
	service.err = fmt.Errorf("%w: connection refused", keyset.ErrAway)
	if got := resolved(c); got != "kept" {
		t.Errorf("while the service is away: %q", got)
	}
	if _, err := policy.New(rules(), deps); err == nil || !strings.Contains(err.Error(), "connection refused") ||
		!strings.Contains(err.Error(), "policy.vault.kms") {
		t.Errorf("policy starts without the service: %v", err)
	}
	if _, err := c.RotateSecrets(t.Context(), &policyv1.RotateSecretsRequest{}); status.Code(err) != codes.Unavailable {
		t.Errorf("a rotation without the service: %v", err)
	}
	service.err = nil
	if _, err := c.RotateSecrets(t.Context(), &policyv1.RotateSecretsRequest{}); err != nil {
		t.Errorf("a rotation: %v", err)
	}
	if got := resolved(use(rules())); got != "kept" {
		t.Errorf("after the rotation: %q", got)
	}
}
