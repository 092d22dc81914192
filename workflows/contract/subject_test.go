package contract_test

import (
	"testing"

	"github.com/windlass-dev/windlass/workflows/contract"
)

func TestSubjects(t *testing.T) {
	for _, row := range []struct{ name, got, want string }{
		{"events", contract.EventSubject("acme", "ses_1"), "windlass.acme.session.ses_1.event"},
		{"deltas", contract.DeltaSubject("acme", "ses_1"), "windlass.acme.session.ses_1.delta"},
		{"both", contract.SessionSubjects("acme", "ses_1"), "windlass.acme.session.ses_1.*"},
		{"a tenant cannot add tokens", contract.EventSubject("a.b", "x"), "windlass.a%2Eb.session.x.event"},
		{"a tenant cannot be a wildcard", contract.EventSubject(">", "*"), "windlass.%3E.session.%2A.event"},
		{"no tenant is still one token", contract.EventSubject("", "x"), "windlass.%.session.x.event"},
		{"escapes do not collide", contract.EventSubject("a%2Eb", "x"), "windlass.a%252Eb.session.x.event"},
	} {
		if row.got != row.want {
			t.Errorf("%s: %q, want %q", row.name, row.got, row.want)
		}
	}
}
