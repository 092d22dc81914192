package blueprint_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/placeholder"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/blueprint"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

type executor = agentspec.Executor

func process(command ...string) *executor { return &executor{Kind: "process", Command: command} }

func at(url string) *executor { return &executor{Kind: "http", URL: url} }

func TestPlaceholdersOfExecutorsAreChecked(t *testing.T) {
	for _, row := range []struct {
		name  string
		x     *executor
		wrong string // "" = none
	}{
		{name: "all that there is", x: &executor{
			Kind: "process", Command: []string{
				"${env.REGION}/agent-${runner.os}", "--name=${params.name}", "${runtime.session_id}",
				"${scope.claims.a.b}", "$${HOME}",
			},
			Env: map[string]string{"A": "${params.name} ${env:WINDLASS_EXECUTOR_A} ${runner.host}"}, Dir: "/work/${params.name}",
		}},
		{name: "an address", x: &executor{
			Kind: "http", URL: "https://${params.name}.agents.example.com:8443/run/${runtime.session_id}?user=${scope.subject}&at=${runner.host}",
			Headers: map[string]string{"X-User": "${scope.subject}", "Authorization": "Bearer ${env:WINDLASS_EXECUTOR_T}"},
		}},
		{name: "a name with a part", x: at("http://agent-${params.name}:8080/")},
		{name: "the operator's host", x: at("http://${env.REGION}/x")},
		{name: "the worker's own host", x: at("http://${runner.host}:8080/x")},
		{
			name: "a program that the caller would choose", x: process("${params.name}"),
			wrong: "executor.command[0]: ${params.name} is not allowed here: the caller of",
		},
		{
			name: "a program of the user", x: process("/home/${scope.subject}/agent"),
			wrong: "executor.command[0]: ${scope.subject} is not allowed here",
		},
		{name: "an unknown param", x: process("a", "${params.nick}"), wrong: "executor.command[1]: ${params.nick} is unknown"},
		{name: "a variable that is not allowed", x: process("a", "${env.HOME}"), wrong: "executor.command[1]: ${env.HOME} is not allowed"},
		{name: "what a shell would read", x: process("sh", "-c", "echo ${HOME}"), wrong: "executor.command[2]: ${HOME} is no placeholder"},
		{
			name: "a reference in an argument", x: process("a", "${env:WINDLASS_EXECUTOR_A}"),
			wrong: "executor.command[1]: ${env:WINDLASS_EXECUTOR_A} is no placeholder",
		},
		{name: "the inner name of references", x: &executor{
			Kind: "process", Command: []string{"a"},
			Env: map[string]string{"A": "${worker_env.HOME}"},
		}, wrong: "executor.env.A: ${worker_env.HOME} is unknown"},
		{
			name: "a shell's script", x: process("/bin/sh", "-c", "echo ${params.name}"),
			wrong: "executor.command[2]: ${params.name} is not allowed here: the caller of the agent would write a part of the script",
		},
		{
			name: "a script behind other options", x: process("bash", "-o", "pipefail", "-euc", "echo ${scope.subject}"),
			wrong: "executor.command[4]: ${scope.subject} is not allowed here",
		},
		{
			name: "a script of a shell that another program starts", x: process("env", "A=1", "sh", "-c", "echo ${params.name}"),
			wrong: "executor.command[4]: ${params.name} is not allowed here",
		},
		{
			name: "an interpreter's script", x: process("python3.12", "-u", "-c", "print('${params.name}')"),
			wrong: "executor.command[3]: ${params.name} is not allowed here",
		},
		{
			name: "a script joined to its option", x: process("node", "--eval=log('${params.name}')"),
			wrong: "executor.command[1]: ${params.name} is not allowed here",
		},
		{name: "what a script is given", x: process("sh", "-c", "echo $1 ${runner.os}", "agent", "${params.name}")},
		{name: "a script's own option", x: process("python3", "agent.py", "-c", "${params.name}")},
		{name: "another program's option", x: process("agent", "-c", "${params.name}")},
		{
			name: "an unknown runner name", x: &executor{Kind: "process", Command: []string{"a"}, Dir: "/x/${runner.moon}"},
			wrong: "executor.dir: ${runner.moon} is unknown",
		},
		{
			name: "a host that the caller would choose", x: at("http://${params.name}/x"),
			wrong: "executor.url: ${params.name} is not allowed here: a caller may choose a label",
		},
		{name: "the last label", x: at("http://example.${params.name}/"), wrong: "executor.url: ${params.name} is not allowed here"},
		{name: "a host that goes on", x: at("http://example.com${params.name}"), wrong: "executor.url: ${params.name} is not allowed here"},
		{
			name: "the scheme", x: at("${params.name}://example.com/"),
			wrong: "executor.url: ${params.name} is not allowed here: placeholders may stand in",
		},
		{
			name: "a user", x: at("http://${params.name}@example.com/"),
			wrong: "executor.url: ${params.name} is not allowed here: placeholders may stand in",
		},
		{
			name: "a header", x: &executor{Kind: "http", URL: "http://x/", Headers: map[string]string{"X-A": "${foo.bar}"}},
			wrong: "executor.headers.X-A: ${foo.bar} is unknown",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := agentspec.Spec{Executor: row.x, ParamsSchema: object(t, customer)}
			var got []string
			for _, f := range checker.Check("", a) {
				got = append(got, f.Path+": "+f.Message)
			}
			if row.wrong == "" && got != nil || row.wrong != "" && (len(got) != 1 || !strings.HasPrefix(got[0], row.wrong)) {
				t.Errorf("%q, want %q", got, row.wrong)
			}
		})
	}
}

// opened is an executor as a worker reads it, in one line.
func opened(t *testing.T, x *executor) string {
	t.Helper()
	open := func(text string) string {
		out, wrong := placeholder.Finish(text, func(r placeholder.Ref) (string, *placeholder.Error) {
			return "<" + r.Namespace + "." + r.Path + ">", nil
		})
		if wrong != nil {
			t.Fatalf("%q is not sealed: %v", text, wrong)
		}
		return out
	}
	var words []string
	for _, c := range x.Command {
		words = append(words, "["+open(c)+"]")
	}
	for _, m := range []map[string]string{x.Env, x.Headers} {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			words = append(words, name+"="+open(m[name]))
		}
	}
	return strings.TrimSpace(strings.Join(words, " ") + " " + open(x.Dir) + open(x.URL))
}

func TestExecutorsAreResolved(t *testing.T) {
	env := map[string]string{"REGION": "eu.example.com:8080"}
	facts := blueprint.Facts{
		SessionID: "ses_1", TurnID: "trn_1",
		Params: object(t, `{"name":"Ann","odd":"a b;$(rm -rf /) '\"","option":"--debug","steal":"${env:WINDLASS_EXECUTOR_KEY} ${runner.host} ${worker_env.K}",
			"path":"../../admin?x=1#y","dots":"..","empty":"","host":"evil.com","line":"a\r\nX-Admin: 1","nul":"a\u0000b","deep":{"x":1}}`),
		Principal: user(t, `{"team":"red"}`), Getenv: func(name string) string { return env[name] },
	}
	for _, row := range []struct {
		name string
		x    *executor
		want string // what the worker sees, or with "!" what is refused
	}{
		{name: "arguments stay one", x: process("a", "--q=${params.odd}", "${params.deep}"), want: `[a] [--q=a b;$(rm -rf /) '"] [{"x":1}]`},
		{
			name: "a value is read for nothing again", x: &executor{
				Kind: "process", Command: []string{"a", "x${params.steal}"},
				Env: map[string]string{"S": "${params.steal}", "K": "Key ${env:WINDLASS_EXECUTOR_KEY} of ${runner.host}", "V": "${secret:crm-key}"},
			},
			want: "[a] [x${env:WINDLASS_EXECUTOR_KEY} ${runner.host} ${worker_env.K}] K=Key <worker_env.WINDLASS_EXECUTOR_KEY> of <runner.host> " +
				"S=${env:WINDLASS_EXECUTOR_KEY} ${runner.host} ${worker_env.K} V=<worker_secret.crm-key>",
		},
		{name: "what is escaped stays", x: &executor{
			Kind: "process", Command: []string{"sh", "-c", "echo $${HOME} $1", "x", "${params.name}"},
			Env: map[string]string{"L": "$${env:X}"},
		}, want: "[sh] [-c] [echo ${HOME} $1] [x] [Ann] L=${env:X}"},
		{
			name: "a script from before it was checked", x: process("sh", "-c", "echo ${params.odd}"),
			want: "!executor.command[2]: ${params.odd} is not allowed in a script",
		},
		{
			name: "an option", x: process("a", "${params.option}"),
			want: "!executor.command[1]: ${params.option} stands for something that begins with \"-\"",
		},
		{
			name: "an option behind nothing", x: process("a", "${params.empty}${params.option}"),
			want: "!executor.command[1]: ${params.empty} stands for",
		},
		{name: "an option where the author wrote one", x: process("a", "--flag=${params.option}"), want: "[a] [--flag=--debug]"},
		{name: "a NUL", x: process("a", "${params.nul}"), want: "!executor.command[1]: ${params.nul} stands for a text with a NUL byte"},
		{name: "a folder", x: &executor{Kind: "process", Command: []string{"a"}, Dir: "/w/${params.name}"}, want: "[a] /w/Ann"},
		{
			name: "a folder elsewhere", x: &executor{Kind: "process", Command: []string{"a"}, Dir: "/w/${params.dots}"},
			want: "!executor.dir: ${params.dots} stands for something that is no part",
		},
		{
			name: "path and query", x: at("http://h.example.com/a/${params.path}/${params.name}?q=${params.path}&r=1"),
			want: "http://h.example.com/a/..%2F..%2Fadmin%3Fx=1%23y/Ann?q=..%2F..%2Fadmin%3Fx%3D1%23y&r=1",
		},
		{
			name: "a step up", x: at("http://h.example.com/a/${params.dots}/b"),
			want: "!executor.url: ${params.dots} stands for something that is no part of a path",
		},
		{name: "a label", x: at("https://${params.name}.example.com/"), want: "https://Ann.example.com/"},
		{
			name: "another host", x: at("https://${params.host}.example.com/"),
			want: "!executor.url: ${params.host} stands for something that is no label",
		},
		{
			name: "another host by its path", x: at("https://${params.path}.example.com/"),
			want: "!executor.url: ${params.path} stands for something that is no label",
		},
		{name: "the operator's host", x: at("http://${env.REGION}/${runner.worker_id}"), want: "http://eu.example.com:8080/<runner.worker_id>"},
		{
			name: "a header of another line", x: &executor{Kind: "http", URL: "http://x/", Headers: map[string]string{"X-A": "${params.line}"}},
			want: "!executor.headers.X-A: ${params.line} stands for something that is no header's value",
		},
		{name: "a missing claim", x: process("a", "${scope.claims.group}"), want: `!executor.command[1]: ${scope.claims.group} has no value`},
		{name: "references alone are the worker's", x: &executor{
			Kind: "process", Command: []string{"a", "$x"},
			Env: map[string]string{"A": "${env:B}"},
		}, want: "as it was"},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := agentspec.Spec{Executor: row.x, ParamsSchema: object(t, `{"type":"object","additionalProperties":true}`)}
			needed := blueprint.ExecutorNeeded(a)
			a, found := checker.Resolve(store.Agent{ID: "a", Spec: a}, facts)
			problems := strings.Join(found, "; ")
			switch refused, is := strings.CutPrefix(row.want, "!"); {
			case row.want == "as it was":
				if needed || problems != "" || a.Executor.Env["A"] != "${env:B}" || a.Executor.Command[1] != "$x" {
					t.Errorf("needed %v, %q: %v", needed, problems, a.Executor)
				}
			case is:
				if !strings.HasPrefix(problems, refused) {
					t.Errorf("problems %q, want %q", problems, refused)
				}
			default:
				if got := opened(t, a.Executor); !needed || problems != "" || got != row.want {
					t.Errorf("%q\nwant %q (%s)", got, row.want, problems)
				}
			}
		})
	}
}
