package agent

import (
	"net"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/placeholder"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/blueprint"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// checkExecutor finds what is wrong with an agent's executor. The prefix is the path of the agent.
func checkExecutor(prefix string, a agentspec.Spec) []fault.Field {
	x := a.Executor
	if x == nil {
		return nil
	}
	prefix += "executor."
	var wrong []fault.Field
	bad := func(field, message string) {
		wrong = append(wrong, fault.Field{Path: prefix + field, Message: message})
	}
	process, remote := x.Kind == contract.ExecutorProcess, x.Kind == contract.ExecutorHTTP || x.Kind == contract.ExecutorGRPC
	if !process && (len(x.Command) > 0 || len(x.Env) > 0 || x.Dir != "") {
		bad("command", `command, env and dir belong to an executor of kind "process"`)
	}
	if !remote && (x.URL != "" || len(x.Headers) > 0) {
		bad("url", `url and headers belong to an executor of kind "http" or "grpc"`)
	}
	switch {
	case process && (len(x.Command) == 0 || strings.TrimSpace(x.Command[0]) == ""):
		bad("command", `an executor of kind "process" needs a program, for example ["python3", "agent.py"]`)
	case process && x.Dir != "" && !filepath.IsAbs(x.Dir) && !placeholder.In(x.Dir): // the worker looks at what they come to
		bad("dir", "want an absolute path")
	case remote:
		if message := wrongExecutorURL(x.Kind, blueprint.Shape(x.URL)); message != "" {
			bad("url", message)
		}
	}
	worker := envref.Place{Owner: "worker", Prefix: "WINDLASS_EXECUTOR_"}
	wrong = append(wrong, worker.CheckVariables(prefix+"env", x.Env)...)
	wrong = append(wrong, worker.CheckHeaders(prefix+"headers", x.Headers)...)
	if (process || remote) && a.Strategy != turnv1.Strategy_STRATEGY_UNSPECIFIED && a.Strategy != turnv1.Strategy_STRATEGY_REACT {
		wrong = append(wrong, fault.Field{
			Path: strings.TrimSuffix(prefix, "executor.") + "strategy", Message: "the executor decides how it thinks: leave strategy out",
		})
	}
	for _, text := range append([]string{x.Dir, x.URL}, x.Command...) {
		if strings.ContainsRune(text, 0) {
			bad("command", "NUL bytes are not allowed")
		}
	}
	return wrong
}

// wrongExecutorURL says what is wrong with the address of an http or grpc executor, "" if nothing is.
func wrongExecutorURL(kind, text string) string {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return "is missing: where is the executor?"
	case err != nil:
		return "not a valid URL"
	case u.User != nil:
		return "credentials do not belong into the URL; use a header with ${env:NAME}"
	case kind == contract.ExecutorHTTP && (u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == ""):
		return "want an absolute http or https address"
	case kind == contract.ExecutorGRPC:
		_, port, err := net.SplitHostPort(u.Host)
		if u.Scheme != "grpc" && u.Scheme != "grpcs" || err != nil || port == "" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" ||
			u.RawQuery != "" {
			return "want grpc://host:port, or grpcs://host:port with TLS"
		}
	}
	return ""
}
