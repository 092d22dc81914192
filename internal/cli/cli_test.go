package cli

import (
	stdflag "flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
)

var update = stdflag.Bool("update", false, "rewrite the golden files")

const (
	agentA = `{"id":"support","display_name":"Support","description":"Helps\nwith all","instructions":"Be brief.\nBe ` +
		`kind.","model":"","strategy":"react","tools":["notes__*","calc__*"],"limits":null,"labels":{},"revision":3,` +
		`"create_time":"2026-01-02T15:04:05Z","update_time":null}`
	turnA = `{"id":"trn_1","session_id":"ses_1","agent_id":"support","status":"queued","stop_reason":"","input":"hello","output":"",` +
		`"tools_used":[],"usage":{"input_tokens":3,"output_tokens":4,"tool_calls":1}}`
	sourceA = `{"id":"src_1","name":"notes","kind":"mcp","url":"http://127.0.0.1:9000/mcp","state":"ready","tool_count":2}`
)

var answers = map[string]answer{
	"GET /v1/agents?page_size=100":                   {body: `{"agents":[` + agentA + `],"next_page_token":""}`},
	"GET /v1/agents/support":                         {body: agentA},
	"GET /v1/agents/secret":                          {403, `{"code":"permission_denied","detail":"you need sessions.agents.get"}`},
	"DELETE /v1/agents/support":                      {body: `{}`},
	"GET /v1/agents/support/revisions?page_size=100": {body: `{"revisions":[` + agentA + `],"next_page_token":""}`},
	"GET /v1/sessions?agent_id=support&page_size=1": {body: `{"sessions":[{"id":"ses_1","agent_id":"support","title":"T","last_seq":9}],` +
		`"next_page_token":"n"}`},
	"PATCH /v1/sessions/ses_1?update_mask=title": {body: `{"id":"ses_1","agent_id":"support"}`},
	"POST /v1/sessions":                          {body: `{"id":"ses_1","agent_id":"support"}`},
	"GET /v1/sessions/ses_1/messages?page_size=200": {body: `{"messages":[{"id":"msg_1","seq":1,"role":"user","content":[{"text":"hi\u001b[2J"}]},
		{"id":"msg_2","seq":2,"role":"assistant","tool_calls":[{"call_id":"c","tool":"notes__list","arguments_json":"{}"}]},
		{"id":"msg_3","seq":3,"role":"tool","tool_result":{"call_id":"c","tool":"notes__list","content":[{"text":"one\ntwo"}]}}],"next_page_token":""}`},
	"POST /v1/sessions/ses_1:fork": {body: `{"id":"ses_2","agent_id":"other",` +
		`"forked_from_session":"ses_1","forked_from_seq":7}`},
	"GET /v1/sessions/ses_1:export?format=markdown":                 {body: "# T\n\n\u001b[2Jhello\n"},
	"GET /v1/sessions/ses_1:export?format=json&include_events=true": {body: `{"events":[],"session":{"id":"ses_1"}}`},
	"GET /v1/artifacts/art_1":                                       {body: "one\u001b[2J\n"},
	"DELETE /v1/agents/support?force=true":                          {body: `{}`},
	"GET /v1/sessions/ses_1/artifacts?page_size=100": {body: `{"artifacts":[{"id":"art_1","name":"r.txt",` +
		`"media_type":"text/plain","size":"9","turn_id":"trn_1"}],"next_page_token":""}`},
	"GET /v1/turns?page_size=100": {body: `{"turns":[],"next_page_token":""}`},
	"GET /v1/turns?page_size=100&status=x": {
		400,
		`{"code":"invalid_argument","detail":"the request is wrong","todo":"Correct the named ` +
			`fields.","fields":[{"field":"status","message":"must be one of queued, running"}]}`,
	},
	"GET /v1/turns/trn_1":           {body: turnA},
	"POST /v1/sessions/ses_1/turns": {202, turnA},
	"POST /v1/turns/trn_1:cancel":   {body: turnA},
	"GET /v1/tools?page_size=100": {body: `{"tools":[{"name":"notes__list","source":"notes","description":"Lists ` +
		`notes","effect":"read","available":true}],"next_page_token":""}`},
	"POST /v1/tools/notes__list:invoke": {body: `{"content":[{"text":"one"},{"blob":{"media_type":"image/png",` +
		`"data":"AAAA"}}],"is_error":false,"cached":false,"latency_ms":3,"execution_id":"exe_1"}`},
	"POST /v1/tools/notes__fail:invoke":                                   {body: `{"content":[{"text":"no such note"}],"is_error":true,"execution_id":"exe_2"}`},
	"GET /v1/sources?page_size=100":                                       {body: `{"sources":[` + sourceA + `],"next_page_token":""}`},
	"PATCH /v1/sources/notes?update_mask=base_url%2Ccall_timeout_seconds": {body: sourceA},
	"POST /v1/sources": {body: `{"id":"src_2","name":"files","kind":"mcp","state":"unreachable",` +
		`"last_error":"exit status 1"}`},
	"POST /v1/sources/notes:sync": {body: `{"added":["notes__new"],"removed":["notes__old"],"changed":[],"total":7,` +
		`"failed":[]}`},
	"POST /v1/tools:refresh": {body: `{"added":[],"removed":[],"changed":[],"total":7,"failed":["gone: ` +
		`connection refused"]}`},
	"GET /v1/models?page_size=100": {body: `{"models":[{"name":"openai/gpt","provider":"openai","default":true,` +
		`"supports_tools":true,"context_window":1000}],"next_page_token":""}`},
	"GET /v1/decisions?denied_only=true&page_size=100": {body: `{"decisions":[{"id":"dec_1","subject":"local","kind":"tool",` +
		`"resource":"notes__delete","allowed":false,"reason":"no rule matches"}],"next_page_token":""}`},
	"GET /v1/tool-cache?period=3600.000s": {body: `{"available":true,"results":"3","size_bytes":"2048","hits":"1","misses":"3",` +
		`"hit_rate":0.25,"failures":"0"}`},
	"POST /v1/tool-cache:clear": {body: `{}`},
	"GET /v1/analytics/tools?period=86400.000s&source=notes": {body: `{"tools":[{"tool":"notes__list","source":"notes","calls":"4",` +
		`"errors":"1","error_rate":0.25,"cache_hits":"1","cache_hit_rate":0.5,"mean_latency_ms":1.25,"p95_latency_ms":9.5}]}`},
	"GET /v1/analytics/sessions": {body: `{"total":"2","messages":"9","messages_per_session":4.5,"active_last_hour":"1"}`},
	"GET /v1/analytics/recent?limit=20": {body: `{"executions":[{"id":"exe_1","tool":"notes__list","subject":"local","state":"done",` +
		`"latency_ms":3,"cache":"miss","input":"{\"text\":\"hi\"}","output":"two\nlines"}]}`},
	"GET /v1/executions?page_size=100&turn_id=trn_1": {body: `{"executions":[{"id":"exe_1","tool":"notes__list","effect":"once",` +
		`"state":"unresolved","attempts":1,"latency_ms":3,"turn_id":"trn_1"}],"next_page_token":""}`},
}

func TestCommands(t *testing.T) {
	for _, tc := range []struct {
		args  string
		stdin string
		code  int
		out   string   // exactly, unless ""
		err   []string // parts of
		sent  string   // a request that must have been sent
	}{
		{
			args: "agent list",
			out: "ID       MODEL      STRATEGY  TOOLS             REVISION  UPDATED  DESCRIPTION\nsupport  (default)  react     " +
				"notes__*,calc__*  3                  Helps with all\n",
		},
		{args: "agents ls -o name", out: "support\n"},
		{args: "get agents -o name", out: "support\n"},
		{args: "get agent support -o name", out: "support\n"},
		{args: "list agents -o name", out: "support\n"},
		{
			args: "agent get support",
			out: "id            support\ndisplay_name  Support\ndescription   Helps\n              with all\ninstructions  Be " +
				"brief.\n              Be kind.\nstrategy      react\ntools         notes__*, calc__*\nrevision      3\ncreate_time   " +
				"2026-01-02T15:04:05Z\n",
		},
		{args: "agent get nobody", code: 3, err: []string{"error: nothing at "}},
		{args: "agent get secret", code: 4, err: []string{"you need sessions.agents.get"}},
		{args: "agent delete support", out: "agent support deleted\n", sent: "DELETE /v1/agents/support"},
		{args: "agent delete support --force", out: "agent support deleted\n", sent: "DELETE /v1/agents/support?force=true"},
		{args: "agent revisions support -o name", out: "support\n"},
		{args: "session list --agent-id support --limit 1 -o name", out: "ses_1\n", err: []string{"there are more"}},
		{args: `session create --params {"n":1} -o name`, out: "ses_1\n", sent: `POST /v1/sessions {"params":{"n":1}}`},
		{args: "session update ses_1 --title T -o name", out: "ses_1\n", sent: `PATCH /v1/sessions/ses_1?update_mask=title {"title":"T"}`},
		{
			args: "cache stats --period 1h",
			out: "AVAILABLE  RESULTS  BYTES  HITS  MISSES  HIT RATE  FAILURES\n" +
				"yes        3        2048   1     3       25.0%     0\n",
		},
		{args: "cache clear notes__list", sent: `POST /v1/tool-cache:clear {"tool":"notes__list"}`},
		{args: "cache clear --source notes", sent: `POST /v1/tool-cache:clear {"source":"notes"}`},
		{args: "cache clear --all", sent: `POST /v1/tool-cache:clear {}`},
		{args: "cache clear", code: 2, err: []string{"say what to clear"}},
		{args: "cache clear notes__list --all", code: 2, err: []string{"say what to clear"}},
		{
			args: "analytics tools --source notes",
			out: "TOOL         CALLS  MEAN MS  P95 MS  CACHE HITS  ERRORS\n" +
				"notes__list  4      1.2      9.5     50.0%       25.0%\n",
		},
		{args: "analytics tools --source notes -o name", out: "notes__list\n"},
		{args: "analytics tools --period 0", code: 2, err: []string{"--period"}},
		{
			args: "analytics sessions",
			out: "SESSIONS  MESSAGES  PER SESSION  ACTIVE IN THE LAST HOUR\n" +
				"2         9         4.5          1\n",
		},
		{
			args: "analytics recent",
			out: "AGE  TOOL         SUBJECT  STATE  MS  CACHE  INPUT          OUTPUT\n" +
				"     notes__list  local    done   3   miss   {\"text\":\"hi\"}  two lines\n",
		},
		{args: "session update ses_1", code: 2, err: []string{"say what to change"}},
		{args: "session create --params [1]", code: 2, err: []string{"--params must be a JSON object"}},
		{
			args: "session create --agent support --title T --label a=b -o name", out: "ses_1\n",
			sent: `POST /v1/sessions {"agent_id":"support","labels":{"a":"b"},"title":"T"}`,
		},
		{
			args: "session messages ses_1",
			out:  "user       hi\uFFFD[2J\nassistant  calls notes__list {}\ntool       notes__list: one\n           two\n",
		},
		{
			args: "session fork ses_1 --seq 9 --agent other --title T -o name", out: "ses_2\n",
			sent: `POST /v1/sessions/ses_1:fork {"agent_id":"other","seq":9,"title":"T"}`,
		},
		{args: "session fork ses_1 -o name", out: "ses_2\n", sent: `POST /v1/sessions/ses_1:fork {}`},
		{args: "artifact list ses_1", out: "ID     NAME   TYPE        BYTES  AGE  TURN\nart_1  r.txt  text/plain  9           trn_1\n"},
		{args: "artifact ls ses_1 -o name", out: "art_1\n"},
		{args: "artifact get art_1", out: "one\uFFFD[2J\n"},
		{args: "artifact get art_1 --file -", out: "one\u001b[2J\n"},
		{args: "session export ses_1", out: "# T\n\n\uFFFD[2Jhello\n"},
		{args: "session export ses_1 -f json --events", out: "{\n  \"events\": [],\n  \"session\": {\n    \"id\": \"ses_1\"\n  }\n}\n"},
		{args: "session export ses_1 -o yaml --events", out: "events: []\nsession:\n  id: ses_1\n"},
		{args: "session export ses_1 -f pdf", code: 2, err: []string{"markdown or json"}},
		{args: "turn list", err: []string{"no turns"}},
		{args: "turn list -o json", out: "[]\n"},
		{args: "turn list --status x", code: 1, err: []string{"the request is wrong", "status: must be one of", "Correct the named fields."}},
		{args: "turn create ses_1 hello there -o name", out: "trn_1\n", sent: `POST /v1/sessions/ses_1/turns {"input":"hello there"}`},
		{
			args: "turn create ses_1 - --mode reject -o name", stdin: "\ufefffrom stdin", out: "trn_1\n",
			sent: `POST /v1/sessions/ses_1/turns {"input":"from stdin","mode":"reject"}`,
		},
		{args: "turn cancel trn_1 --reason why -o name", out: "trn_1\n", sent: `POST /v1/turns/trn_1:cancel {"reason":"why"}`},
		{
			args: "turn get trn_1 -o yaml",
			out: "id: trn_1\nsession_id: ses_1\nagent_id: support\nstatus: queued\nstop_reason: \"\"\ninput: hello\noutput: \"\"\ntools_used: " +
				"[]\nusage:\n  input_tokens: 3\n  output_tokens: 4\n  tool_calls: 1\n",
		},
		{args: "tool list", out: "NAME         EFFECT  AVAILABLE  DESCRIPTION\nnotes__list  read    yes        Lists notes\n"},
		{
			args: `tool invoke notes__list {"a":1}`, out: "one[image/png, 3 bytes]\n",
			sent: `POST /v1/tools/notes__list:invoke {"arguments":{"a":1}}`,
		},
		{args: "tool invoke notes__list -", stdin: `{"b":2}`, sent: `POST /v1/tools/notes__list:invoke {"arguments":{"b":2}}`},
		{
			args: "tool invoke --fresh notes__list", out: "one[image/png, 3 bytes]\n",
			sent: `POST /v1/tools/notes__list:invoke {"arguments":{},"fresh":true}`,
		},
		{args: "tool invoke notes__list {", code: 2, err: []string{"no valid JSON"}},
		{args: "tool invoke notes__fail", code: 1, out: "no such note\n", sent: `POST /v1/tools/notes__fail:invoke {"arguments":{}}`},
		{
			args: "source list",
			out: "NAME   KIND  STATE  TOOLS  SYNCED  WHERE                      ERROR\nnotes  mcp   ready  2              " +
				"http://127.0.0.1:9000/mcp\n",
		},
		{
			args: "source create files --env A=b --timeout 5 -o name -- npx -y x", out: "files\n",
			err:  []string{"its tools could not be listed yet: exit status 1"},
			sent: `POST /v1/sources {"call_timeout_seconds":5,"command":["npx","-y","x"],"env":{"A":"b"},"kind":"mcp","name":"files"}`,
		},
		{
			args: "source update notes --timeout 9 --base-url= -o name", out: "notes\n",
			sent: `PATCH /v1/sources/notes?update_mask=base_url%2Ccall_timeout_seconds {"call_timeout_seconds":9}`,
		},
		{args: "source update notes", code: 2, err: []string{"name what to change"}},
		{args: "source create files", code: 2, err: []string{"one of --url, --openapi, --graphql, --grpc, --endpoint", "--agents, and a"}},
		{args: "source create files --url http://x -- y", code: 2},
		{args: "source sync notes", out: "+ notes__new\n- notes__old\n7 tools\n", sent: "POST /v1/sources/notes:sync {}"},
		{args: "source sync notes -o name", out: "notes__new\nnotes__old\n"},
		{args: "source sync", code: 1, out: "7 tools\n", err: []string{"not reached: gone: connection refused"}},
		{args: "model list", out: "NAME        DEFAULT  TOOLS  CONTEXT\nopenai/gpt  yes      yes    1000\n"},
		{
			args: "decision list --denied-only",
			out:  "ID     AGE  SUBJECT  KIND  RESOURCE       ALLOWED  REASON\ndec_1       local    tool  notes__delete  no       no rule matches\n",
		},
		{
			args: "execution list --turn-id trn_1",
			out: "ID     AGE  TOOL         EFFECT  STATE       ATTEMPTS  MS  CODE  TURN\nexe_1       notes__list  once    unresolved  1         " +
				"3         trn_1\n",
		},
		{args: "version -o name", out: "1.2.3\n"},

		{args: "frob", code: 2, err: []string{`has no command "frob"`, "See 'windlass --help'"}},
		{args: "agents lst", code: 2, err: []string{"did you mean list"}},
		{args: "agent get", code: 2, err: []string{"ID is missing: windlass agent get ID\n"}},
		{args: "agent get a b", code: 2, err: []string{`"b" is too much: windlass agent get ID` + "\n"}},
		{args: "session list --limit x", code: 2, err: []string{"--limit x: want a whole number\n"}},
		{args: "turn watch trn_1 --deltas=x", code: 2, err: []string{"--deltas x: want true or false\n"}},
		{args: "ls", code: 2, err: []string{"use 'windlass session list'"}},
		{args: "ps", code: 2, err: []string{"use 'windlass turn list'"}},
		{args: "--version", out: "windlass 1.2.3\n"},
		{args: "session list --agent support --limit 1 -o name", out: "ses_1\n"},
		{args: "agent list --nope", code: 2, err: []string{"unknown flag"}},
		{args: "turn list --stauts running", code: 2, err: []string{"unknown flag --stauts; did you mean --status?"}},
		{args: "turn list --sevrer x", code: 2, err: []string{"did you mean --server?"}},
		{args: "get frobs", code: 2, err: []string{"there are agents"}},
		{args: "get", code: 2, err: []string{"say what to get"}},
		{args: "turn list -o xml", code: 2, err: []string{"table, json, yaml or name"}},
		{args: "turn list --limit -1", code: 2},
		{args: "turn list --server ftp://x", code: 2, err: []string{"is no address"}},
		{args: "turn watch trn_1 -o yaml", code: 2},
		{args: "chat --session a --agent b", code: 2},
		{args: "turn list --server 127.0.0.1:1", code: 1, err: []string{"no answer from http://127.0.0.1:1", "windlass up"}},
	} {
		t.Run(tc.args, func(t *testing.T) {
			f := newFake(t, answers)
			r := f.windlass(tc.stdin, strings.Fields(tc.args)...)
			if r.code != tc.code {
				t.Errorf("exit code %d, want %d; stderr: %s", r.code, tc.code, r.err)
			}
			if tc.out != "" && r.out != tc.out {
				t.Errorf("printed\n%s\nwant\n%s", r.out, tc.out)
			}
			for _, part := range tc.err {
				if !strings.Contains(r.err, part) {
					t.Errorf("stderr %q lacks %q", r.err, part)
				}
			}
			if tc.sent != "" && !f.seen(tc.sent) {
				t.Errorf("requests %q lack %q", f.requests, tc.sent)
			}
		})
	}
}

func TestAMissingIDIsNamed(t *testing.T) {
	for _, args := range [][]string{
		{"agent", "get", ""}, {"get", "source", ""}, {"turn", "cancel", ""}, {"session", "delete", ""}, {"turn", "create", "", "hello"},
	} {
		f := newFake(t, answers)
		if r := f.windlass("", args...); r.code == 0 || !strings.Contains(r.err, "is missing") {
			t.Errorf("windlass %q = %d, %s", args, r.code, r.err)
		}
		if len(f.requests) > 0 {
			t.Errorf("windlass %q requests %q", args, f.requests)
		}
	}
}

func TestHelpIsAsRecorded(t *testing.T) {
	a := &app.App{Version: "1.2.3"}
	var walk func(c *cobra.Command)
	var b strings.Builder
	walk = func(c *cobra.Command) {
		b.WriteString(c.UseLine() + "\n  " + c.Short + "\n" + c.LocalNonPersistentFlags().FlagUsages())
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(New(a))
	file := filepath.Join("testdata", "help.golden")
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the help changed; look at it and run the test with -update:\n%s", b.String())
	}
}

func TestHelpGoesToStandardOutput(t *testing.T) {
	f := newFake(t, nil)
	for _, args := range [][]string{{}, {"--help"}, {"agent"}, {"turn", "watch", "--help"}, {"completion", "bash"}} {
		if r := f.windlass("", args...); r.code != 0 || r.out == "" || r.err != "" {
			t.Errorf("windlass %v = %d, %d bytes, stderr %q", args, r.code, len(r.out), r.err)
		}
	}
}
