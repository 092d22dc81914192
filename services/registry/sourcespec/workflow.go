package sourcespec

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/services/registry/store"
	"github.com/windlass-dev/windlass/services/registry/workflow"
)

// validateWorkflows checks a source of kind workflow.
func validateWorkflows(s store.Source, bad func(field, message string)) {
	validateNoServer(s, bad)
	if s.Spec.URL != "" || s.Document != "" || s.Spec.BaseURL != "" || s.Spec.Operations != nil || len(s.Spec.Endpoints) > 0 ||
		len(s.Spec.Headers) > 0 {
		bad("source.kind", "a source of kind workflow has temporal, workflows and auth, and no url, document, base_url, operations, "+
			"endpoints or headers")
	}
	at := s.Spec.Temporal
	if at == nil {
		bad("source.temporal", "it is required: where Temporal is")
		return
	}
	if message := wrongAddress(at.Address); message != "" {
		bad("source.temporal.address", message)
	}
	if strings.ContainsFunc(at.Namespace, func(r rune) bool { return r <= ' ' || r > '~' }) {
		bad("source.temporal.namespace", "not a valid name of a namespace")
	}
	if len(s.Spec.Workflows) == 0 {
		bad("source.workflows", "give at least one workflow")
	}
	workflow.Tools(s.Spec.Workflows, func(i int, field, message string) {
		bad(fmt.Sprintf("source.workflows[%d].%s", i, field), message)
	})
	if a := s.Spec.Auth; a != nil {
		validateAuth(s, *a, bad)
		switch {
		case a.Kind != credential.Bearer && a.Kind != credential.ClientCredentials:
			bad("source.auth.kind", "use bearer, for an API key of Temporal, or oauth2_client_credentials")
		case !at.TLS:
			bad("source.temporal.tls", "credentials are sent with TLS only: set it to true")
		}
	}
}

// wrongAddress says what is wrong with a "host:port".
func wrongAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	number, portErr := strconv.ParseUint(port, 10, 16)
	if err != nil || host == "" || portErr != nil || number == 0 || strings.ContainsAny(host, "/@ ") {
		return "it is \"host:port\", as in \"temporal.example:7233\""
	}
	return ""
}
