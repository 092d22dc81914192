package mcpbridge

import (
	"cmp"
	"encoding/json"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/fault"
)

// passed is all that a tool server's process sees of the bridge's environment.
func passed() []string { return []string{"PATH", "HOME", "LANG", "TMPDIR"} }

// reference is "${env:NAME}".
var reference = regexp.MustCompile(`\$\{env:([^}]*)\}`)

// resolver replaces references to the bridge's environment and remembers the values, so that they can be kept out of texts.
type resolver struct {
	allow   []string
	lookup  func(string) (string, bool)
	secrets []string
	// values are those behind references, but for short ones, which would riddle what tools say.
	values []string
	wrong  []fault.Field
}

func newResolver(allow []string) *resolver { return &resolver{allow: allow, lookup: os.LookupEnv} }

// resolve returns text with its references replaced. field names the place for the caller.
func (r *resolver) resolve(field, text string) string {
	return reference.ReplaceAllStringFunc(text, func(ref string) string {
		name := reference.FindStringSubmatch(ref)[1]
		if !slices.ContainsFunc(r.allow, func(glob string) bool { ok, err := path.Match(glob, name); return ok && err == nil }) {
			r.refuse(field, "the bridge's variable "+name+" may not be used here: rename it to fit "+allowed(r.allow)+
				", or add it to mcpbridge.env_allow")
			return ""
		}
		value, ok := r.lookup(name)
		if !ok {
			r.refuse(field, "the bridge has no variable "+name+": set it in the environment of the process that runs the bridge, and restart it")
			return ""
		}
		r.hide(value)
		if len(value) >= 8 {
			r.values = append(r.values, value)
		}
		return value
	})
}

func (r *resolver) refuse(field, message string) {
	r.wrong = append(r.wrong, fault.Field{Path: field, Message: message})
}

// hide adds a value that must not show up in logs and errors. Very short values are no secrets and would riddle every text.
func (r *resolver) hide(value string) {
	if len(value) >= 4 {
		r.secrets = append(r.secrets, value)
	}
}

// redactor returns a function that takes secrets out of a text, also as they are written in JSON.
func redactor(secrets []string) func(string) string {
	if len(secrets) == 0 {
		return func(s string) string { return s }
	}
	all := slices.Clone(secrets)
	for _, s := range secrets {
		if quoted, err := json.Marshal(s); err == nil { // strings always encode
			all = append(all, string(quoted[1:len(quoted)-1]))
		}
	}
	// Longer first: a secret may begin with another.
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	all = slices.Compact(all)
	pairs := make([]string, 0, 2*len(all))
	for _, s := range all {
		pairs = append(pairs, s, "***")
	}
	return strings.NewReplacer(pairs...).Replace
}

func allowed(globs []string) string {
	if len(globs) == 0 {
		return "nothing (mcpbridge.env_allow is empty)"
	}
	return strings.Join(globs, ", ")
}

// childEnv is the environment of a tool server's process: a few variables of the bridge and what the server's entry says.
func childEnv(own map[string]string) []string {
	env := make([]string, 0, len(own)+4)
	for _, name := range passed() {
		if _, set := own[name]; set {
			continue
		}
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range own {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}
