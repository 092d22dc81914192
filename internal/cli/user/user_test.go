package user

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/embedded"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testwant"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var root = clitest.Command(func(r *command.Runner) *cobra.Command { return Command(r.App) })

const accounts = `{
  "issuer": "http://127.0.0.1:8089",
  "users": [
    {"name": "alice", "tenant": "default", "roles": ["admin", "user"], "claims": {"level": "3", "department": "finance"}, "password": "a-b-c"},
    {"name": "bob", "tenant": "acme", "roles": null}
  ],
  "clients": [
    {"id": "cli", "public": true, "grants": ["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"], "audiences": ["windlass"]},
    {"id": "robot", "grants": ["client_credentials"], "audiences": ["windlass", "orders"], "secret": "hidden"},
    {"id": "web", "grants": null}
  ]
}`

// directory returns a data directory with accounts.
func directory(t *testing.T, content string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	file := filepath.Join(dir, embedded.IssuerDir, "accounts.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAccountsAreListed(t *testing.T) {
	dir := directory(t, accounts)
	for _, tc := range []struct{ flags, out string }{
		{"", `
NAME   PASSWORD      TENANT   ROLES       CLAIMS
alice  a-b-c         default  admin,user  department=finance,level=3
bob    (configured)  acme
`},
		{"-o name", "\nalice\nbob\n"},
		{"-o jsonpath={.items[*].password}", "\na-b-c\n"},
		{"--clients", `
ID     SECRET        AUDIENCES        GRANTS
cli    (none)        windlass         device_code,refresh_token
robot  hidden        windlass,orders  client_credentials
web    (configured)
`},
		{"--clients -o name", "\ncli\nrobot\nweb\n"},
		{"--clients -o custom-columns=ID:.id,SECRET:.secret", "\nID     SECRET\ncli    <none>\nrobot  hidden\nweb    <none>\n"},
	} {
		f := clitest.New(t, root, nil)
		r := f.Run("", strings.Fields("user list --data-dir "+dir+" "+tc.flags)...)
		testwant.Equal(t, "user list "+tc.flags, r.Out, strings.TrimPrefix(tc.out, "\n"))
		testwant.Equal(t, "requests to a server", len(f.Requests()), 0)
	}
}

func TestDirectoriesWithoutAccounts(t *testing.T) {
	for _, tc := range []struct {
		name, dir, flags, err string
		code                  int
	}{
		{name: "no directory", dir: "/nowhere", code: 1, err: "/nowhere has no users: start 'windlass up' on it once"},
		{name: "no issuer", dir: t.TempDir(), code: 1, err: "or name another directory with --data-dir"},
		{name: "a damaged file", dir: directory(t, "{"), code: 1, err: "is damaged; remove it, and new passwords are generated"},
		{name: "a wrong format", dir: directory(t, accounts), flags: " -o xml", code: 2, err: "table, json, yaml or name"},
		{name: "an argument", dir: t.TempDir(), flags: " alice", code: 2, err: `"alice" is too much`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := clitest.New(t, root, nil).Run("", strings.Fields("user list --data-dir "+tc.dir+tc.flags)...)
			testwant.Equal(t, "the exit code", r.Code, tc.code)
			testwant.Equal(t, "printed", r.Out, "")
			if !strings.Contains(r.Err, tc.err) {
				t.Errorf("stderr is %q", r.Err)
			}
		})
	}
}
