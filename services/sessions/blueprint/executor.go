package blueprint

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/placeholder"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// place is where in an executor a text stands. It says what may stand in it.
type place int

const (
	program  place = iota // what is started: not the caller's to choose
	argument              // stays one argument, and no option where the author wrote none
	script                // a program's text, as behind "sh -c": not the caller's to write
	variable              // of the environment
	folder                // callers give parts of names
	header                // printable ASCII
	address               // see url.go
)

// part is one text of an executor.
type part struct {
	path  string
	place place
	text  string
	put   func(string)
}

// refs reports whether the text may refer to the worker's environment, as ${env:NAME}, and to stored secrets, as ${secret:NAME}.
func (p part) refs() bool { return p.place == variable || p.place == header }

// parts are all texts of an agent's executor.
func parts(a *agentspec.Spec) []part {
	x := a.Executor
	if x == nil {
		return nil
	}
	var out []part
	for i, text := range x.Command {
		p := part{path: fmt.Sprintf("executor.command[%d]", i), place: argument, text: text, put: func(s string) { x.Command[i] = s }}
		switch {
		case i == 0:
			p.place = program
		case isScript(x.Command, i):
			p.place = script
		}
		out = append(out, p)
	}
	for _, name := range slices.Sorted(maps.Keys(x.Env)) {
		out = append(out, part{path: "executor.env." + name, place: variable, text: x.Env[name], put: func(s string) { x.Env[name] = s }})
	}
	for _, name := range slices.Sorted(maps.Keys(x.Headers)) {
		out = append(out, part{
			path: "executor.headers." + name, place: header, text: x.Headers[name],
			put: func(s string) { x.Headers[name] = s },
		})
	}
	return append(out,
		part{path: "executor.dir", place: folder, text: x.Dir, put: func(s string) { x.Dir = s }},
		part{path: "executor.url", place: address, text: x.URL, put: func(s string) { x.URL = s }})
}

// ExecutorNeeded reports whether the texts of an agent's executor have placeholders, and so must be resolved and are sealed.
// References alone are the worker's to resolve.
func ExecutorNeeded(a agentspec.Spec) bool {
	if !a.Hosted() {
		return false
	}
	return slices.ContainsFunc(parts(&a), func(p part) bool { return placeholder.In(p.bare()) })
}

var reference = regexp.MustCompile(`\$\{(?:env:([A-Za-z_][A-Za-z0-9_]*)|secret:([A-Za-z][A-Za-z0-9_.-]*))\}`)

// deferred returns a reference in the form that it has in sealed texts.
func deferred(m []string) string {
	if m[2] != "" {
		return "${" + contract.WorkerSecretNamespace + "." + m[2] + "}"
	}
	return "${" + contract.WorkerEnvNamespace + "." + m[1] + "}"
}

// bare is the text without its references.
func (p part) bare() string { return p.rewrite(func([]string) string { return "" }) }

// rewrite replaces the references of a text, whose "$" is not escaped by another. as gets the submatches of reference.
func (p part) rewrite(as func(match []string) string) string {
	if !p.refs() {
		return p.text
	}
	var b strings.Builder
	from := 0
	for _, m := range reference.FindAllStringSubmatchIndex(p.text, -1) {
		if m[0] > 0 && p.text[m[0]-1] == '$' {
			continue
		}
		b.WriteString(p.text[from:m[0]] + as(reference.FindStringSubmatch(p.text[m[0]:m[1]])))
		from = m[1]
	}
	return b.String() + p.text[from:]
}

// callers reports whether a placeholder stands for what callers say of themselves or of the session, not the operator.
func callers(r placeholder.Ref) bool {
	return r.Namespace != nsEnv && r.Namespace != contract.RunnerNamespace
}

// checkExecutor finds placeholders in an executor that are unknown, or that may not stand where they do.
func (c Checker) checkExecutor(prefix string, a *agentspec.Spec) (wrong []fault.Field) {
	schema := canon.FromStruct(a.ParamsSchema)
	for _, p := range parts(a) {
		errs := placeholder.Check(p.bare(), func(r placeholder.Ref) *placeholder.Error {
			switch {
			case p.place == program && callers(r):
				return placeholder.Wrong(r,
					"is not allowed here: the caller of the agent would choose the program; ${env.*} and ${runner.*} may stand here")
			case p.place == script && callers(r):
				return placeholder.Wrong(r,
					`is not allowed here: the caller of the agent would write a part of the script; give it as a further argument, which the script `+
						`reads as "$1", or in env`)
			}
			return c.ref(slot{sealed: true}, schema, r)
		})
		if p.place == address && len(errs) == 0 {
			errs = checkAddress(p.text)
		}
		for _, e := range errs {
			wrong = append(wrong, fault.Field{Path: prefix + p.path, Message: e.Error()})
		}
	}
	return wrong
}

// resolveExecutor puts values in the texts of an executor, and seals them for the worker.
func (c Checker) resolveExecutor(a *agentspec.Spec, f Facts, report func(path string, wrong []*placeholder.Error)) {
	for _, p := range parts(a) {
		lookup := func(r placeholder.Ref) (string, *placeholder.Error) {
			if r.Namespace == contract.WorkerEnvNamespace || r.Namespace == contract.WorkerSecretNamespace { // from rewrite
				return "", nil
			}
			if p.place == script && callers(r) { // of a blueprint from before this was checked
				return "", placeholder.Wrong(r, "is not allowed in a script")
			}
			text, wrong := c.value(slot{sealed: true}, a, r, f)
			if wrong == nil {
				wrong = p.fits(r, text)
			}
			return text, wrong
		}
		text := p.rewrite(deferred)
		if p.place == address {
			lookup = escaping(p.text, lookup)
		}
		sealed, wrong := placeholder.Begin(text, lookup, contract.RunnerNamespace, contract.WorkerEnvNamespace, contract.WorkerSecretNamespace)
		if p.place == argument && len(wrong) == 0 {
			wrong = option(p.text, sealed)
		}
		report(p.path, wrong)
		p.put(sealed)
	}
}

// option refuses an argument that begins with what a caller gave and is an option by that.
func option(text, resolved string) []*placeholder.Error {
	if !strings.HasPrefix(text, "${") || !strings.HasPrefix(resolved, "-") {
		return nil
	}
	var wrong []*placeholder.Error
	placeholder.Check(text, func(r placeholder.Ref) *placeholder.Error {
		if callers(r) && wrong == nil {
			wrong = []*placeholder.Error{placeholder.Wrong(r,
				`stands for something that begins with "-", which the program would read as an option`)}
		}
		return nil
	})
	return wrong
}

// fits refuses a value that would say more than its place is for.
func (p part) fits(r placeholder.Ref, value string) *placeholder.Error {
	switch {
	case strings.ContainsRune(value, 0):
		return placeholder.Wrong(r, "stands for a text with a NUL byte")
	case p.place == folder && callers(r) && !namePart.MatchString(value):
		return placeholder.Wrong(r, `stands for something that is no part of a folder's name: want letters, digits, "_" and "-"`)
	case p.place == header && strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c > '~' }):
		return placeholder.Wrong(r, "stands for something that is no header's value: want printable ASCII on one line")
	}
	return nil
}
