package audit

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var root = clitest.Command(Command)

func TestAuditVerifySaysWhatItFound(t *testing.T) {
	for _, tc := range []struct {
		name, body, out, err string
		code                 int
	}{
		{
			name: "whole", body: `{"intact":true,"records":"7","hash":"abc","first_seq":"1"}`,
			out: "the audit trail is intact: 7 records, the last one with the hash abc\n",
		},
		{
			name: "empty", body: `{"intact":true,"records":"0","hash":"","first_seq":"1"}`,
			out: "the audit trail is intact: 0 records, the last one with the hash \n",
		},
		{
			name: "after retention", body: `{"intact":true,"records":"7","hash":"abc","first_seq":"101"}`,
			out: "the audit trail is intact from record 101 on, those before it are not kept any more: 7 records, the last one, record 107, " +
				"with the hash abc\n",
		},
		{
			name: "broken", body: `{"intact":false,"records":"4","broken_at":"5","problem":"its hash is not that of its content","first_seq":"1"}`,
			code: 1, err: "the audit trail is broken at record 5: its hash is not that of its content",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := clitest.New(t, root, clitest.Answers{"GET /v1/audit:verify": {Body: tc.body}})
			r := f.Run("", "audit", "verify")
			if r.Code != tc.code || r.Out != tc.out || !strings.Contains(r.Err, tc.err) {
				t.Errorf("exit code %d, %q, %q", r.Code, r.Out, r.Err)
			}
		})
	}
	f := clitest.New(t, root, clitest.Answers{"GET /v1/audit:verify?hash=abc&seq=7": {Body: `{"intact":true,"records":"9","hash":"def","first_seq":"1"}`}})
	if r := f.Run("", "audit", "verify", "--seq", "7", "--hash", "abc", "-o", "name"); r.Code != 0 || r.Out != "def\n" {
		t.Errorf("with a kept hash: exit code %d, %q, %q", r.Code, r.Out, r.Err)
	}
}
