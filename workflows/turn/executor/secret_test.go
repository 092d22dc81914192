package executor_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/placeholder"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/workflows/turn/executor"
)

// vault has a secret of tenant acme, and cannot be read when it is away.
type vault struct{ away bool }

func (v vault) Secret(tenant, name string) (secret.Value, error) {
	switch {
	case v.away:
		return secret.Value{}, status.Error(codes.Unavailable, "policy is away")
	case tenant != "acme" || name != "crm-key":
		return secret.Value{}, status.Error(codes.NotFound, "no such secret")
	}
	return secret.New("stored-secret"), nil
}

// TestStoredSecrets: an executor gets the secrets of the turn's tenant, in headers and variables, sealed text or not; what it says of them
// is redacted.
func TestStoredSecrets(t *testing.T) {
	for name, row := range map[string]struct {
		header, tenant string
		vault          vault
		sealed         bool
		want           string // of the error
		passes         bool   // with time
	}{
		"a secret":                   {header: "Bearer ${secret:crm-key}"},
		"in a sealed text":           {header: "Bearer ${worker_secret.crm-key}", sealed: true},
		"no such secret":             {header: "${secret:nope}", want: `there is no secret "nope"`},
		"a secret of another tenant": {header: "${secret:crm-key}", tenant: "default", want: `there is no secret "crm-key"`},
		"policy is away":             {header: "${secret:crm-key}", vault: vault{away: true}, want: "policy is away", passes: true},
		"a user writes our word":     {header: "${worker_secret.crm-key}", want: "got Authorization ${worker_secret.crm-key}"},
	} {
		t.Run(name, func(t *testing.T) {
			x := served(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/x-ndjson")
				if got := r.Header.Get("Authorization"); got != "Bearer stored-secret" {
					_, _ = fmt.Fprintf(w, `{"type":"error","message":"got Authorization %s"}`, got)
					return
				}
				_, _ = w.Write([]byte(`{"type":"error","message":"my key is stored-secret"}`))
			})
			x.Headers["Authorization"] = row.header
			r := round(x)
			r.Invocation.Tenant = cmp.Or(row.tenant, "acme")
			if row.sealed {
				r.Later = func(placeholder.Ref) (string, *placeholder.Error) { return "", nil }
			}
			h := newHostWith(t, executor.Deps{Vault: row.vault})
			_, err := h.Run(t.Context(), r, (&heard{}).sink())
			want := row.want
			if want == "" {
				want = "my key is ***"
			}
			f, _ := errors.AsType[*fault.Error](err)
			if f == nil || !strings.Contains(fmt.Sprint(err, f.Fields), want) || row.passes && !fault.Retryable(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}
