package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/testpoll"
	eventv1 "github.com/windlass-dev/windlass/proto/gen/windlass/event/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	policyeventsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policyevents/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// TestChangesAreDomainEvents: each change of an access policy, a quota or a secret has one event, without values of secrets. What is
// refused or only checked has none.
func TestChangesAreDomainEvents(t *testing.T) {
	const canary = "canary-1c0ffee"
	s := newService(t, withVault())
	done := make(chan error, 1)
	go func() { done <- s.Run(t.Context()) }()
	t.Cleanup(func() { // the context of the test has ended
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	conn := rpctest.Serve(t, "policy", func(r grpc.ServiceRegistrar) { s.Register(r) })
	secrets, quotas := policyv1.NewSecretServiceClient(conn), policyv1.NewQuotaServiceClient(conn)
	policies := policyv1.NewAccessPolicyServiceClient(conn)
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	refused := func(_ any, err error) {
		t.Helper()
		if err == nil {
			t.Fatal("a change was not refused")
		}
	}
	must(policies.CreateAccessPolicy(t.Context(), &policyv1.CreateAccessPolicyRequest{AccessPolicy: finance(), ValidateOnly: true}))
	must(policies.CreateAccessPolicy(t.Context(), &policyv1.CreateAccessPolicyRequest{AccessPolicy: finance()}))
	refused(policies.CreateAccessPolicy(t.Context(), &policyv1.CreateAccessPolicyRequest{AccessPolicy: finance()}))
	off := finance()
	off.Disabled = true
	must(policies.UpdateAccessPolicy(t.Context(), &policyv1.UpdateAccessPolicyRequest{AccessPolicy: off}))
	must(policies.DeleteAccessPolicy(t.Context(), &policyv1.DeleteAccessPolicyRequest{Name: "finance"}))
	must(quotas.SetQuota(t.Context(), &policyv1.SetQuotaRequest{QuotaId: "users", ToolCallsPerDay: proto.Int64(7)}))
	must(quotas.DeleteQuota(t.Context(), &policyv1.DeleteQuotaRequest{QuotaId: "users"}))
	refused(quotas.DeleteQuota(t.Context(), &policyv1.DeleteQuotaRequest{QuotaId: "users"}))
	must(secrets.CreateSecret(t.Context(), &policyv1.CreateSecretRequest{Name: "crm", Value: canary, Description: canary}))
	refused(secrets.CreateSecret(t.Context(), &policyv1.CreateSecretRequest{Name: "crm", Value: canary}))
	must(secrets.UpdateSecret(t.Context(), &policyv1.UpdateSecretRequest{Name: "crm", Value: canary}))
	must(secrets.DeleteSecret(t.Context(), &policyv1.DeleteSecretRequest{Name: "crm"}))
	want := []string{
		"access_policy.created finance allow", "access_policy.updated finance allow disabled", "access_policy.deleted finance",
		"quota.set users 7", "quota.deleted users", "secret.created crm 1", "secret.updated crm 2", "secret.deleted crm",
	}
	log := policyeventsv1.NewEventLogServiceClient(conn)
	read := func(owner string) []*eventv1.CloudEvent {
		t.Helper()
		resp, err := log.ReadEvents(t.Context(), &registryv1.ReadEventsRequest{Tenant: "default", Limit: 100, Owner: owner})
		if err != nil {
			t.Fatal(err)
		}
		return resp.GetEvents()
	}
	testpoll.Until(t, "the events are numbered", func() bool { return len(read("")) >= len(want) })
	for i, e := range read("") {
		d := e.GetData().GetFields()
		if raw, err := protojson.Marshal(e); err != nil || strings.Contains(string(raw), canary) {
			t.Errorf("event %d: %s, %v", i, raw, err)
		}
		got := strings.TrimSuffix(strings.TrimPrefix(e.GetType(), "dev.windlass."), ".v1") + " " + e.GetSubject()
		for _, more := range []string{d["effect"].GetStringValue(), d["tool_calls_per_day"].GetStringValue()} {
			if more != "" && more != "0" {
				got += " " + more
			}
		}
		if n := d["version"].GetNumberValue(); n > 0 {
			got += fmt.Sprint(" ", n)
		}
		if d["disabled"].GetBoolValue() {
			got += " disabled"
		}
		if i >= len(want) || got != want[i] || d["actor"].GetStringValue() != "local" || e.GetSource() != "/windlass/policy" {
			t.Errorf("event %d: %q of %s by %v", i, got, e.GetSource(), d["actor"])
		}
	}
	if n := len(read("alice")); n != 0 {
		t.Errorf("another user sees %d events", n)
	}
}
