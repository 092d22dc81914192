package envref_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/libs/secret"
)

// vault has one secret, of one tenant.
type vault struct{ err error }

func (v vault) Secret(tenant, name string) (secret.Value, error) {
	switch {
	case v.err != nil:
		return secret.Value{}, v.err
	case tenant == "one" && name == "crm.token":
		return secret.New("from the vault"), nil
	}
	return secret.Value{}, status.Error(codes.NotFound, "not there")
}

func TestReferences(t *testing.T) {
	t.Setenv("WINDLASS_TOOL_KEY", "from the environment")
	cfg := envref.Config{Allow: []string{"WINDLASS_TOOL_*"}, Owner: "bridge", Setting: "mcpbridge.env_allow", Vault: vault{}}
	for _, row := range []struct {
		name, tenant, text, want, wrong string
		vault                           envref.Vault
	}{
		{
			name: "a variable and a secret", tenant: "one", text: "${env:WINDLASS_TOOL_KEY} ${secret:crm.token}",
			want: "from the environment from the vault",
		},
		{name: "no reference", tenant: "one", text: "$secret:crm", want: "$secret:crm"},
		{name: "another tenant", tenant: "two", text: "${secret:crm.token}", wrong: "windlass secret set crm.token"},
		{name: "no tenant", text: "${secret:crm.token}", wrong: "stored secrets cannot be used here"},
		{name: "a variable that is not allowed", tenant: "one", text: "${env:PATH}", wrong: "mcpbridge.env_allow"},
	} {
		r := envref.New(cfg, row.tenant)
		got := r.Resolve("field", row.text)
		switch {
		case r.Err != nil:
			t.Errorf("%s: %v", row.name, r.Err)
		case row.wrong != "":
			if len(r.Wrong) != 1 || !strings.Contains(r.Wrong[0].Message, row.wrong) || got != "" {
				t.Errorf("%s: %q, %v", row.name, got, r.Wrong)
			}
		case got != row.want || len(r.Wrong) > 0:
			t.Errorf("%s: %q, %v", row.name, got, r.Wrong)
		}
	}
	r := envref.New(cfg, "one")
	r.Resolve("field", "Bearer ${secret:crm.token}")
	if text := envref.Redactor(r.Secrets)("it says from the vault"); text != "it says ***" {
		t.Errorf("redacted: %q", text)
	}
	cfg.Vault = vault{status.Error(codes.Unavailable, "away")}
	r = envref.New(cfg, "one")
	if got := r.Resolve("field", "${secret:crm.token}"); got != "" || status.Code(r.Err) != codes.Unavailable || len(r.Wrong) > 0 {
		t.Errorf("while policy is away: %q, %v, %v", got, r.Err, r.Wrong)
	}
}

func TestSecretsAreReferredTo(t *testing.T) {
	place := envref.Place{Owner: "MCP bridge", Prefix: "WINDLASS_TOOL_"}
	for value, wrong := range map[string]string{
		"Bearer ${secret:crm}":              "",
		"Bearer ${env:WINDLASS_TOOL_TOKEN}": "",
		"Bearer abc":                        "must not be written here",
		"Bearer ${secret:no spaces}":        "must not be written here",
	} {
		got := place.CheckHeaders("headers", map[string]string{"Authorization": value})
		if (wrong == "") != (len(got) == 0) || wrong != "" && !strings.Contains(got[0].Message, wrong) {
			t.Errorf("%s: %v", value, got)
		}
	}
	if got := place.CheckHeaders("headers", map[string]string{"X-Team": "${secret:no spaces}"}); len(got) != 1 {
		t.Errorf("a broken reference: %v", got)
	}
	for text, want := range map[string]bool{"${secret:a}": true, "${env:A}": true, "": false, "x${secret:a}": false, "${env:A} ": false} {
		if envref.Whole(text) != want {
			t.Errorf("%q is a whole reference: %t", text, !want)
		}
	}
}
