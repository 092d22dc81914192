// Package envref resolves references to secrets in definitions: "${env:NAME}" is a variable in the environment of the process that uses it,
// "${secret:NAME}" a stored secret of the definition's tenant. Definitions are stored and shown with the reference, never the value.
package envref

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/libs/secret"
)

// anyReference matches "${env:NAME}" and "${secret:NAME}" with any name.
var anyReference = regexp.MustCompile(`\$\{(env|secret):([^}]*)\}`)

// Vault has stored secrets; *vault.Client is one.
type Vault interface {
	// Secret returns a tenant's secret. The error has the code NotFound if there is none.
	Secret(tenant, name string) (secret.Value, error)
}

// Config defines which references are allowed, and the names used in errors.
type Config struct {
	// Allow lists the names of variables that may be referenced; * matches as in file names.
	Allow []string
	// Owner is the process whose environment is used: "bridge".
	Owner string
	// Setting is the configuration key of Allow.
	Setting string
	// Vault has the stored secrets; nil refuses references to them.
	Vault Vault
}

// Resolver replaces the references of one definition and remembers the values, so that they can be redacted.
type Resolver struct {
	cfg    Config
	tenant string
	// Secrets are values that must not appear in logs and errors.
	Secrets []string
	// Values are the resolved values, except short ones, whose redaction would garble the output of tools.
	Values []string
	// Wrong lists the references that cannot be replaced.
	Wrong []fault.Field
	// Err is why stored secrets could not be read, which may pass.
	Err error
}

// New returns a resolver for a definition of a tenant.
func New(cfg Config, tenant string) *Resolver { return &Resolver{cfg: cfg, tenant: tenant} }

// Resolve returns text with its references replaced. field is the path to report in Wrong.
func (r *Resolver) Resolve(field, text string) string {
	return anyReference.ReplaceAllStringFunc(text, func(ref string) string {
		m := anyReference.FindStringSubmatch(ref)
		lookup := r.variable
		if m[1] == "secret" {
			lookup = r.stored
		}
		value, ok := lookup(field, m[2])
		if !ok {
			return ""
		}
		r.Hide(value)
		if len(value) >= 8 {
			r.Values = append(r.Values, value)
		}
		return value
	})
}

// variable returns a variable of the environment.
func (r *Resolver) variable(field, name string) (string, bool) {
	if !glob.AnyFile(r.cfg.Allow, name) {
		r.Refuse(field, "the "+r.cfg.Owner+"'s variable "+name+" may not be used here: rename it to fit "+r.allowed()+
			", or add it to "+r.cfg.Setting)
		return "", false
	}
	value, ok := os.LookupEnv(name)
	if !ok {
		r.Refuse(field, "the "+r.cfg.Owner+" has no variable "+name+": set it in the environment of the process that runs the "+
			r.cfg.Owner+", and restart it")
	}
	return value, ok
}

// stored returns a stored secret.
func (r *Resolver) stored(field, name string) (string, bool) {
	if r.cfg.Vault == nil || r.tenant == "" {
		r.Refuse(field, "stored secrets cannot be used here: refer to a variable of the "+r.cfg.Owner+" with ${env:NAME}")
		return "", false
	}
	value, err := r.cfg.Vault.Secret(r.tenant, name)
	switch {
	case err == nil:
		return value.Reveal(), true
	case status.Code(err) == codes.NotFound:
		r.Refuse(field, fmt.Sprintf("there is no secret %q: store it with windlass secret set %s", name, name))
	case status.Code(err) == codes.InvalidArgument:
		r.Refuse(field, fmt.Sprintf("%q is no name of a secret", name))
	default:
		r.Err = errors.Join(r.Err, fmt.Errorf("read the secret %q: %w", name, err))
	}
	return "", false
}

// Refuse records a mistake.
func (r *Resolver) Refuse(field, message string) {
	r.Wrong = append(r.Wrong, fault.Field{Path: field, Message: message})
}

// Hide adds a value that must not appear in logs and errors. It ignores very short values: they are no secrets, and redacting them would
// garble every text.
func (r *Resolver) Hide(value string) {
	if len(value) >= 4 {
		r.Secrets = append(r.Secrets, value)
	}
}

func (r *Resolver) allowed() string {
	if len(r.cfg.Allow) == 0 {
		return "nothing (" + r.cfg.Setting + " is empty)"
	}
	return strings.Join(r.cfg.Allow, ", ")
}

// Redactor returns a function that redacts secrets in a text, including their JSON-escaped form.
func Redactor(secrets []string) func(string) string {
	if len(secrets) == 0 {
		return func(s string) string { return s }
	}
	all := slices.Clone(secrets)
	for _, s := range secrets {
		if quoted, err := json.Marshal(s); err == nil { // strings always encode
			all = append(all, string(quoted[1:len(quoted)-1]))
		}
	}
	// Longer first: one secret may be a prefix of another.
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	all = slices.Compact(all)
	pairs := make([]string, 0, 2*len(all))
	for _, s := range all {
		pairs = append(pairs, s, "***")
	}
	return strings.NewReplacer(pairs...).Replace
}
