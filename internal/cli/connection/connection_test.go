package connection

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testwant"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var root = clitest.Command(Command)

const (
	begun     = `{"id":"att_1","source":"crm","connect_url":"https://mesh.example.com/connect/att_1"}`
	connected = `{"source":"crm","issuer":"https://crm.example.com","state":"connected"}`
)

// attempt returns answers for an attempt that is in a state.
func attempt(state string) clitest.Answers {
	return clitest.Answers{
		"POST /v1/connections:begin":        {Body: begun},
		"GET /v1/connection-attempts/att_1": {Body: `{"id":"att_1",` + state + `}`},
		"GET /v1/connections/crm":           {Body: connected},
	}
}

func TestAUserConnects(t *testing.T) {
	const asks = "Open https://mesh.example.com/connect/att_1\nand log in to crm. Waiting… (Ctrl-C stops)\n"
	clitest.Run(t, root, attempt(`"state":"connected"`), []clitest.Case{
		{
			Args: "connection create crm", Out: "connected to crm at https://crm.example.com\n", Err: []string{asks},
			Sent: `POST /v1/connections:begin {"source":"crm"}`,
		},
		{Args: "connections create crm -o name", Out: "crm\n"},
		{Args: "connection create crm -o jsonpath={.issuer}", Out: "https://crm.example.com\n"},
		{Args: "connection create", Code: 2, Err: []string{"SOURCE is missing"}},
	})
	clitest.Run(t, root, attempt(`"state":"failed","error":"the user <refused>\u001b[2J"`), []clitest.Case{
		{Args: "connection create crm", Code: 1, Err: []string{"not connected: the user <refused>\uFFFD[2J\n"}},
	})
	clitest.Run(t, root, attempt(`"state":"expired"`), []clitest.Case{
		{Args: "connection create crm", Code: 1, Err: []string{"not connected: nobody logged in in time"}},
	})
	clitest.Run(t, root, clitest.Answers{"POST /v1/connections:begin": {Status: 404, Body: `{"code":"not_found","detail":"there is no source crm"}`}},
		[]clitest.Case{{Args: "connection create crm", Code: 3, Err: []string{"there is no source crm"}}})
}

func TestTheCommandWaitsForTheUser(t *testing.T) {
	f := clitest.New(t, root, attempt(`"state":"connected"`))
	asked := 0
	f.Hook = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.URL.Path, "/v1/connection-attempts/") {
			return false
		}
		if asked++; asked > 1 {
			return false
		}
		_, _ = w.Write([]byte(`{"id":"att_1","state":"pending"}`))
		return true
	}
	r := f.Run("", "connection", "create", "crm")
	testwant.Equal(t, "the exit code", r.Code, 0)
	testwant.Equal(t, "questions", asked, 2)
}

func TestTheUserStopsWaiting(t *testing.T) {
	f := clitest.New(t, root, attempt(`"state":"pending"`))
	ctx, cancel := context.WithCancel(t.Context())
	f.Hook = func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/v1/connection-attempts/") {
			cancel()
		}
		return false
	}
	var out, errs strings.Builder
	a := &app.App{Self: "windlass", In: strings.NewReader(""), Out: &out, Err: &errs, Environ: []string{"WINDLASS_SERVER=" + f.URL}}
	testwant.Equal(t, "the exit code", a.Execute(ctx, root(a), []string{"connection", "create", "crm"}), app.ExitError)
	if out.String() != "" || !strings.HasSuffix(errs.String(), "error: interrupted\n") {
		t.Errorf("it prints %q and %q", out.String(), errs.String())
	}
}

func TestConnectionsEnd(t *testing.T) {
	const url = "DELETE /v1/connections/crm"
	clitest.Run(t, root, clitest.Answers{url: {Body: `{"revoked":true}`}}, []clitest.Case{
		{Args: "connection delete crm", Sent: url, Out: "connection to crm deleted; its tokens are revoked\n"},
		{Args: "connection delete crm -o json", Out: "{\n  \"revoked\": true\n}\n"},
		{Args: "connection delete erp", Code: 3},
	})
}
