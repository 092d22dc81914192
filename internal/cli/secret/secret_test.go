package secret

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testwant"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var root = clitest.Command(Command)

const stored = `{"name":"crm","version":"3"}`

var answers = clitest.Answers{
	"PATCH /v1/secrets/crm": {Body: stored},
	"POST /v1/secrets":      {Body: `{"name":"new","version":"1"}`},
	"PATCH /v1/secrets/locked": {
		Status: 403, Body: `{"code":"permission_denied","detail":"you need policy.secrets.update"}`,
	},
	"GET /v1/secrets?page_size=200": {Body: `{"secrets":[{"name":"crm","version":"3"},{"name":"erp","version":"1"}]}`},
	"DELETE /v1/secrets/crm":        {Body: `{}`},
}

func TestCommands(t *testing.T) {
	clitest.Run(t, root, answers, []clitest.Case{
		{
			Args: "secret set crm --description CRM", Stdin: "hidden\n", Out: "secret crm set, version 3; refer to it as ${secret:crm}\n",
			Sent: `PATCH /v1/secrets/crm {"description":"CRM","value":"hidden"}`,
		},
		{Args: "secret set new", Stdin: "hidden", Sent: `POST /v1/secrets {"name":"new","value":"hidden"}`, Out: "secret new set, version 1; " +
			"refer to it as ${secret:new}\n"},
		{Args: "secret set locked", Stdin: "hidden", Code: 4, Err: []string{"you need policy.secrets.update"}},
		{Args: "secret set crm -o name", Stdin: "hidden", Out: "crm\n"},
		{Args: "secret set crm hidden", Code: 2, Err: []string{`"hidden" is too much`}}, // values are no arguments
		{Args: "secret list -o name", Out: "crm\nerp\n"},
		{Args: "secret delete crm", Out: "secret crm deleted\n"},
		{Args: "secret delete erp", Code: 3},
	})
}

func TestWhatAValueIs(t *testing.T) {
	large := strings.Repeat("x", maxValue)
	for _, tc := range []struct{ name, in, want, err string }{
		{name: "without a line break", in: "hidden", want: "hidden"},
		{name: "of a pipe", in: "hidden\n", want: "hidden"},
		{name: "of a pipe on Windows", in: app.Mark + "hidden\r\n", want: "hidden"},
		{name: "several lines", in: "one\ntwo\n\n", want: "one\ntwo\n"},
		{name: "spaces", in: " hidden ", want: " hidden "},
		{name: "a mark that is not at the beginning", in: "a" + app.Mark, want: "a" + app.Mark},
		{name: "the largest", in: large, want: large},
		{name: "the largest of a pipe on Windows", in: app.Mark + large + "\r\n", want: large},
		{name: "nothing", in: "", err: "the value is empty"},
		{name: "a line break", in: "\r\n", err: "the value is empty"},
		{name: "too large", in: large + "x", err: "the value has more than 65536 bytes"},
		{name: "too large behind a line break", in: large + "\r\n" + "more", err: "the value has more than 65536 bytes"},
		{name: "too large behind a mark", in: app.Mark + large + "x", err: "the value has more than 65536 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := read(&app.App{In: strings.NewReader(tc.in)}, "crm")
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%d bytes, %v, want %s", len(got), err, tc.err)
				}
				return
			}
			testwant.Equal(t, "the error", err, nil)
			if got != tc.want {
				t.Errorf("%d bytes, want %d", len(got), len(tc.want))
			}
		})
	}
}
