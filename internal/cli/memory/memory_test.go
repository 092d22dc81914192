package memory

import (
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var root = clitest.Command(Command)

const fact = `{"id":"fct_1","state":"active","entity":"user","text":"home town: Bonn"}`

var answers = clitest.Answers{
	"GET /v1/memory?page_size=200":                                       {Body: `{"facts":[` + fact + `]}`},
	"GET /v1/memory?page_size=200&q=home+town&state=FACT_STATE_PROPOSED": {Body: `{"facts":[]}`},
	"POST /v1/memory":         {Body: fact},
	"PATCH /v1/memory/fct_1":  {Body: fact},
	"DELETE /v1/memory/fct_1": {Body: `{}`},
	"POST /v1/memory:forget":  {Body: `{"forgotten":3}`},
	"GET /v1/memory:export":   {Body: `{"facts":[` + fact + `],"markdown":"# Memory\n\n- home town: Bonn\n"}`},
	"GET /v1/memory:document": {Body: `{"markdown":"# Memory <!-- e1 -->\n\n## user\n\n- home town = Bonn <!-- fct_1 -->\n","etag":"e1"}`},
	"PUT /v1/memory:document": {
		Body: `{"changes":[{"kind":"corrected","fact_id":"fct_2","line":5,"before":"home town = Bonn","after":"home town = Oslo"}]}`,
	},
	"GET /v1/memory:versions?page_size=200": {Body: `{"versions":[{"time":"2026-01-02T03:04:05.000006Z","facts":2}]}`},
	"GET /v1/memory:compare?from=2026-01-02T03%3A04%3A05.000006Z": {
		Body: `{"changes":[{"kind":"forgotten","before":"tea"},{"kind":"added","after":"coffee"}]}`,
	},
	"PATCH /v1/memory/settings": {Body: `{"off":true}`},
}

func TestCommands(t *testing.T) {
	clitest.Run(t, root, answers, []clitest.Case{
		{Args: "memory list", Out: "ID     STATE   ABOUT  FACT             AGE\nfct_1  active  user   home town: Bonn\n"},
		{Args: "memory list -o name", Out: "fct_1\n"},
		{Args: "memory list --state gone", Code: 1, Err: []string{`no state "gone"`}},
		{
			Args: "memory add home town = Bonn", Out: "fct_1 remembered: home town: Bonn\n",
			Sent: `POST /v1/memory {"attribute":"home town","value":"Bonn"}`,
		},
		{Args: "memory add I like tea --entity me", Sent: `POST /v1/memory {"entity":"me","text":"I like tea"}`},
		{Args: "memory accept fct_1", Sent: `PATCH /v1/memory/fct_1 {"state":"active"}`},
		{Args: "memory reject fct_1", Out: "fct_1 rejected: home town: Bonn\n"},
		{Args: "memory forget fct_1", Sent: "DELETE /v1/memory/fct_1", Out: "fact fct_1 forgotten\n"},
		{Args: "memory forget", Code: 1, Err: []string{"--all"}},
		{Args: "memory forget fct_1 --all", Code: 1, Err: []string{"--all"}},
		{Args: "memory forget --all", Out: "facts that were forgotten: 3\n"},
		{Args: "memory export", Out: "# Memory\n\n- home town: Bonn\n"},
		{Args: "memory document", Out: "# Memory <!-- e1 -->\n\n## user\n\n- home town = Bonn <!-- fct_1 -->\n"},
		{
			Args: "memory edit - --dry-run", Stdin: "# Memory <!-- e1 -->\n", Out: "- home town = Bonn\n+ home town = Oslo\n",
			Sent: `PUT /v1/memory:document {"dry_run":true,"markdown":"# Memory <!-- e1 -->\n"}`,
		},
		{Args: "memory edit", Code: 2, Err: []string{"set EDITOR"}},
		{Args: "memory versions -o name", Out: "2026-01-02T03:04:05.000006Z\n"},
		{Args: "memory versions 2026-01-02T03:04:05.000006Z", Out: "- tea\n+ coffee\n"},
		{Args: "memory versions yesterday", Code: 2, Err: []string{"no time of a version"}},
		{Args: "memory off", Sent: `PATCH /v1/memory/settings {"off":true}`, Out: "memory is off\n"},
	})
}
