package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testwant"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var root = clitest.Nouns(Noun())

const (
	created = "POST /v1/access-policies"
	updated = "PATCH /v1/access-policies/p"
	stored  = `{"name":"p","revision":"4","effect":"deny"}`
)

var answers = clitest.Answers{
	created:                              {Body: stored},
	updated + "?update_mask=description": {Body: stored},
}

// sent runs a command, and returns the only request that it made.
func sent(t *testing.T, args ...string) (request string, r clitest.Result) {
	t.Helper()
	f := clitest.New(t, root, answers)
	r = f.Run("", args...)
	if len(f.Requests()) > 1 {
		t.Fatalf("requests %q", f.Requests())
	}
	return strings.Join(f.Requests(), ""), r
}

func TestTheEffectOfAPolicy(t *testing.T) {
	for _, tc := range []struct{ args, effect string }{
		{"policy create p", "allow"},
		{"policy create p --deny", "deny"},
		{"policy create p --deny=true", "deny"},
		{"policy create p --deny=false", "allow"},
		{"policy update p --deny", "deny"},
		{"policy update p --allow", "allow"},
		{"policy update p --allow --deny=false", "allow"},
		{"policy update p --deny --allow=false", "deny"},
		{"policy update p --description d", ""},
		{"policy update p --description d --deny=false", ""},
		{"policy update p --description d --allow=false", ""},
	} {
		request, _ := sent(t, strings.Fields(tc.args)...)
		effect := ""
		if _, rest, ok := strings.Cut(request, `"effect":"`); ok {
			effect, _, _ = strings.Cut(rest, `"`)
		}
		if request == "" || effect != tc.effect {
			t.Errorf("%s: %s, want the effect %q", tc.args, request, tc.effect)
		}
	}
	for _, args := range []string{
		"policy update p", "policy update p --allow=false", "policy update p --deny=false", "policy update p --allow --deny",
	} {
		if request, r := sent(t, strings.Fields(args)...); request != "" || r.Code != 2 {
			t.Errorf("%s requests %s, exit code %d", args, request, r.Code)
		}
	}
}

func TestConditions(t *testing.T) {
	for _, tc := range []struct{ match, want, err string }{
		{match: "department equals finance", want: `{"operator":"equals","path":"department","values":["finance"]}`},
		{match: "  $roles  contains  admin,ops ", want: `{"operator":"contains","path":"$roles","values":["admin","ops"]}`},
		{match: "mail matches ^a,b@", want: `{"operator":"matches","path":"mail","values":["^a,b@"]}`},
		{match: "title equals head of sales", want: `{"operator":"equals","path":"title","values":["head of sales"]}`},
		{match: "department", err: `--match "department": want 'PATH OPERATOR VALUE'`},
		{match: "department equals", err: "want 'PATH OPERATOR VALUE'"},
		{match: "", err: "want 'PATH OPERATOR VALUE'"},
	} {
		request, r := sent(t, "policy", "create", "p", "--match", tc.match)
		if tc.err != "" {
			if r.Code != 2 || request != "" || !strings.Contains(r.Err, tc.err) {
				t.Errorf("%q: %d %s %s", tc.match, r.Code, request, r.Err)
			}
			continue
		}
		testwant.Equal(t, tc.match, request, created+` {"effect":"allow","matchers":[`+tc.want+`],"name":"p"}`)
	}
}

func TestOutputsOfAChange(t *testing.T) {
	const text = "policy p created, revision 4; it applies to the next call\n"
	clitest.Run(t, root, answers, []clitest.Case{
		{Args: "policy create p", Out: text},
		{Args: "policy create p -o name", Out: "p\n"},
		{Args: "policy create p -o jsonpath={.effect}", Out: "deny\n"},
		{Args: "policy create", Code: 2, Err: []string{"NAME is missing"}},
		{Args: "policy create p --priority high", Code: 2, Err: []string{"--priority high: want a whole number"}},
		{Args: "policy update q --disabled", Code: 3, Err: []string{"nothing at 'windlass policy update q"}},
	})
}

const explained = `{"allowed":true,"reason":"p allows it","explained":[{"name":"p","effect":"allow","priority":-1,"message":"matches",` +
	`"matchers":[{"matches":true,"path":"a","operator":"equals","values":["x","y"]}]}]}`

func TestExplain(t *testing.T) {
	const url = "POST /v1/access-policies:explain"
	clitest.Run(t, root, clitest.Answers{url: {Body: explained}}, []clitest.Case{
		{
			Args: "policy explain a__b", Sent: url + ` {"tool":"a__b"}`,
			Out: "allowed: p allows it\n\np (allow, priority -1): matches\n  yes a equals x|y\n",
		},
		{Args: "policy explain a.b.c --subject ann", Sent: url + ` {"permission":"a.b.c","subject":"ann"}`},
		{Args: "policy explain a__b -o name", Out: "a__b\n"},
		{Args: "policy explain a__b --subject ann --claims {", Code: 2, Err: []string{"--claims must be a JSON object"}},
		{Args: "policy explain a__b --claims {}", Code: 2, Err: []string{"--claims and --role need a --subject"}},
	})
}

func page(token string, decisions ...string) string {
	for i, d := range decisions {
		decisions[i] = `{"decision":{"subject":"` + d + `","resource":"a__b","allowed":true},"reason":"denied"}`
	}
	return `{"replayed":"5","skipped":"0","next_page_token":"` + token + `","differences":[` + strings.Join(decisions, ",") + `]}`
}

func TestReplayReadsAllPages(t *testing.T) {
	const url = "POST /v1/access-policies:replay"
	for _, tc := range []struct {
		name, flags, out string
		requests         int
	}{
		{
			name: "all", requests: 3, out: "AGE  SUBJECT  RESOURCE  WAS      DRAFT   NOW     REASON\n" +
				"     ann      a__b      allowed  denied  denied  denied\n     bob      a__b      allowed  denied  denied  denied\n" +
				"     eve      a__b      allowed  denied  denied  denied\n3 of 15 decisions would be different\n",
		},
		{name: "as many as are wanted", flags: " --limit 2 -o jsonpath={[*].decision.subject}", requests: 2, out: "ann bob\n"},
		{name: "a part of a page", flags: " --limit 1 -o jsonpath={[*].decision.subject}", requests: 1, out: "ann\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := clitest.New(t, root, nil)
			pages := []string{page("two", "ann"), page("three", "bob"), page("", "eve")}
			f.Hook = clitest.InTurn(pages...)
			r := f.Run("", strings.Fields("policy replay --without p --since 2026-01-02T15:04:05Z"+tc.flags)...)
			testwant.Equal(t, "printed", r.Out, tc.out)
			testwant.Len(t, "requests", f.Requests(), tc.requests)
			testwant.Equal(t, "the first request", f.Requests()[0],
				url+` {"page_size":100,"start_time":"2026-01-02T15:04:05Z","without":"p"}`)
			if tc.requests > 1 && !strings.Contains(f.Requests()[1], `"page_token":"two"`) {
				t.Errorf("the second request is %s", f.Requests()[1])
			}
		})
	}
}

func TestDraftsThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tc := range []struct {
		args, stdin, err string
		code             int
	}{
		{args: "policy replay", code: 2, err: "give either a file with a draft, or --without NAME"},
		{args: "policy replay - --without p", code: 2, err: "give either a file with a draft, or --without NAME"},
		{args: "policy replay --without p --limit 0", code: 2, err: "--limit must be more than 0"},
		{args: "policy replay --without p --since soon", code: 2, err: "--since must be a time"},
		{args: "policy replay " + filepath.Join(dir, "none"), code: 1, err: "read the draft: open "},
		{args: "policy replay -", stdin: "a: [", code: 1, err: "the draft in - is not YAML"},
		{args: "policy replay -", stdin: "kind: agent\n", code: 1, err: "the draft in - is of kind agent, not policy"},
		{args: "policy replay " + file("wrong.yaml", "priority: high\n"), code: 1, err: "priority"},
		{args: "policy replay " + file("large.yaml", "tools:\n"+strings.Repeat("- a__b\n", maxDraft/6)), code: 1, err: "is larger than"},
	} {
		f := clitest.New(t, root, nil)
		r := f.Run(tc.stdin, strings.Fields(tc.args)...)
		if r.Code != tc.code || !strings.Contains(r.Err, tc.err) || len(f.Requests()) > 0 {
			t.Errorf("%s: %d %s, requests %d", tc.args, r.Code, r.Err, len(f.Requests()))
		}
	}
}
