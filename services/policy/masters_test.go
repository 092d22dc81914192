package policy_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/keyset"
	"github.com/windlass-dev/windlass/libs/secret"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy"
)

// reaching makes clients that reach one server.
type reaching struct{ *httptest.Server }

func (r reaching) Client(egress.Options) *http.Client { return r.Server.Client() }

// newTransit stands for a transit engine: its ciphertext is the plaintext. TestKeysetsAreWrappedAtTheService has one that encrypts.
func newTransit(t *testing.T, tokens *[]string) reaching {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*tokens = append(*tokens, r.Header.Get("X-Vault-Token"))
		var in map[string]string
		_ = json.NewDecoder(r.Body).Decode(&in)
		out := map[string]string{"ciphertext": "vault:v1:" + in["plaintext"]}
		if r.URL.Path == "/v1/transit/decrypt/windlass" {
			out = map[string]string{"plaintext": strings.TrimPrefix(in["ciphertext"], "vault:v1:")}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": out})
	}))
	t.Cleanup(s.Close)
	return reaching{s}
}

// The master key moves from the configuration to a key management service, and back, without a touch of the secrets. Its token may change.
func TestTheMasterKeyMovesToAServiceAndBack(t *testing.T) {
	var tokens []string
	deps := depsOf(t)
	engine := newTransit(t, &tokens)
	deps.Egress = engine
	file := filepath.Join(t.TempDir(), "token")
	renew := func(token string) {
		if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	renew("hvs.first")
	remote, local := rules(), withVault()
	uri := "hcvault://" + engine.Listener.Addr().String() + "/transit/keys/windlass"
	remote.Vault.KMS, remote.Vault.KMSTokenFile = uri, file
	remote.Vault.OldMasterKeys = []secret.Value{local.Vault.MasterKey}
	alone := remote
	alone.Vault.OldMasterKeys = nil
	back := local
	back.Vault.OldKMS, back.Vault.KMSTokenFile = uri, file
	for i, cfg := range []policy.Config{local, remote, alone, back, local} {
		s, err := policy.New(cfg, deps)
		if err != nil {
			t.Fatalf("configuration %d: %v", i+1, err)
		}
		c := policyv1.NewSecretServiceClient(asRegistry(t, s))
		if i == 0 {
			if _, err := c.CreateSecret(t.Context(), &policyv1.CreateSecretRequest{Name: "crm", Value: "kept"}); err != nil {
				t.Fatal(err)
			}
		}
		got, err := c.ResolveSecret(t.Context(), &policyv1.ResolveSecretRequest{Tenant: "default", Name: "crm"})
		if err != nil || got.GetValue() != "kept" {
			t.Errorf("configuration %d: %q, %v", i+1, got.GetValue(), err)
		}
		if i == 1 {
			renew("hvs.second")
		}
	}
	if len(tokens) == 0 || tokens[0] != "hvs.first" || tokens[len(tokens)-1] != "hvs.second" {
		t.Errorf("tokens %q", tokens)
	}
}

func TestMasterKeysThatAreRefused(t *testing.T) {
	key := secret.New(strings.Repeat("m", keyset.MinSecret))
	const uri = "hcvault://vault.example/transit/keys/windlass"
	for want, v := range map[string]policy.VaultConfig{
		"set kms or a master key, not both":     {KMS: uri, MasterKey: key},
		"set kms_token or kms_token_file":       {KMS: uri},
		"cannot reach a key management service": {KMS: uri, KMSToken: key},
		"only decrypt: set master_key or kms":   {OldKMS: uri, KMSToken: key},
		"kms_token_file: open /nowhere":         {KMS: uri, KMSTokenFile: "/nowhere"},
	} {
		cfg := rules()
		cfg.Vault = v
		if _, err := policy.New(cfg, depsOf(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	cfg, deps := rules(), depsOf(t)
	cfg.Vault = policy.VaultConfig{KMS: "aws-kms://arn:aws:kms:x", KMSToken: key}
	deps.Egress = newTransit(t, new([]string))
	if _, err := policy.New(cfg, deps); err == nil || !strings.Contains(err.Error(), "policy.vault.kms: want hcvault://") {
		t.Errorf("another service: %v", err)
	}
}
