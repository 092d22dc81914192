package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/windlass-dev/windlass/gateway/codec"
	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/testmain"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// sorted returns the JSON of a source with sorted names.
func sorted(t *testing.T, source *registryv1.Source) string {
	t.Helper()
	raw, err := codec.MarshalSet(source)
	if err != nil {
		t.Fatal(err)
	}
	object, err := canon.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return string(object.JSON())
}

func TestNewSource(t *testing.T) {
	file := filepath.Join(t.TempDir(), "api.yaml")
	if err := os.WriteFile(file, []byte("openapi: 3.1.0"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ args, want string }{
		{"x --url http://a/mcp --pin", `{"kind":"mcp","name":"x","pin":true,"url":"http://a/mcp"}`},
		{"x npx server", `{"command":["npx","server"],"kind":"mcp","name":"x"}`},
		{
			"x --openapi https://a/o.json --tag a,b --path /p* --operation get*",
			`{"kind":"openapi","name":"x","operations":{"names":["get*"],"paths":["/p*"],"tags":["a","b"]},"url":"https://a/o.json"}`,
		},
		{"x --openapi " + file + " --base-url http://a", `{"base_url":"http://a","document":"openapi: 3.1.0","kind":"openapi","name":"x"}`},
		{"x --openapi -", `{"document":"from stdin","kind":"openapi","name":"x"}`},
		{"x --openapi - --bearer ${env:T}", `{"auth":{"kind":"bearer","secret":"${env:T}"},"document":"from stdin","kind":"openapi","name":"x"}`},
		{
			"x --openapi http://a --basic ann:${env:T}",
			`{"auth":{"kind":"basic","secret":"${env:T}","username":"ann"},"kind":"openapi","name":"x","url":"http://a"}`,
		},
		{
			"x --openapi http://a --api-key query:key=${env:T}",
			`{"auth":{"in":"query","kind":"api_key","name":"key","secret":"${env:T}"},"kind":"openapi","name":"x","url":"http://a"}`,
		},
		{
			"x --openapi http://a --token-url http://t --client-id c --client-secret ${env:T} --scope r,w",
			`{"auth":{"client_id":"c","kind":"oauth2_client_credentials","scopes":["r","w"],"secret":"${env:T}","token_url":"http://t"},` +
				`"kind":"openapi","name":"x","url":"http://a"}`,
		},
		{
			"x --base-url http://a --endpoint get=GET_/o/${args.id}?q=${args.q}&n=1",
			`{"base_url":"http://a","endpoints":[{"method":"GET","name":"get","path":"/o/${args.id}","query":{"n":"1","q":"${args.q}"}}],` +
				`"kind":"http","name":"x"}`,
		},
		{
			"x --graphql http://a/q --operation pet*",
			`{"kind":"graphql","name":"x","operations":{"names":["pet*"]},"url":"http://a/q"}`,
		},
		{
			"x --temporal t:7233 --temporal-namespace n --temporal-tls --bearer ${env:T} --workflow pay=Pay@q --poll",
			`{"auth":{"kind":"bearer","secret":"${env:T}"},"kind":"workflow","name":"x",` +
				`"temporal":{"address":"t:7233","namespace":"n","tls":true},` +
				`"workflows":[{"mode":"poll","name":"pay","task_queue":"q","workflow_type":"Pay"}]}`,
		},
		{
			"x --temporal t:7233 --workflow pay=Pay@q --workflow Ship@s",
			`{"kind":"workflow","name":"x","temporal":{"address":"t:7233"},` +
				`"workflows":[{"name":"pay","task_queue":"q","workflow_type":"Pay"},{"name":"Ship","task_queue":"s"}]}`,
		},
		{"x --agents a*,b", `{"agents":["a*","b"],"kind":"agent","name":"x"}`},
		{"x --agents a --bearer ${env:T}", "--bearer belongs to an API"},
		{"x --workflow pay@q", "--workflow needs --temporal"},
		{"x --temporal t:7233 --workflow pay", "--workflow is 'NAME=TYPE@TASK-QUEUE'"},
		{"x --url http://a --poll", "--poll belongs to --workflow"},
		{"x --grpc 127.0.0.1:9090", `{"kind":"grpc","name":"x","url":"grpc://127.0.0.1:9090"}`},
		{
			"x --grpc a:1 --tls --descriptor-set " + file + " --tag Orders --path a.B/* --operation B_* --key-header k --bearer ${env:T}",
			`{"auth":{"kind":"bearer","secret":"${env:T}"},"descriptor_set":"b3BlbmFwaTogMy4xLjA=","key_header":"k","kind":"grpc","name":"x",` +
				`"operations":{"names":["B_*"],"paths":["a.B/*"],"tags":["Orders"]},"url":"grpcs://a:1"}`,
		},
		{"x --grpc grpcs://a:1 --descriptor-set -", `{"descriptor_set":"ZnJvbSBzdGRpbg==","kind":"grpc","name":"x","url":"grpcs://a:1"}`},
		{"x --grpc grpc://a:1 --tls", "--tls needs --grpc HOST:PORT"},
		{"x --grpc a:1 --descriptor-set /no/such/file", "read the descriptor set"},
		{"x --url http://a --tls", "--tls belongs to --grpc"},
		{"x --base-url http://a --endpoint no", "--endpoint is 'NAME=METHOD /path'"},
		{"x", "give one of --url, --openapi, --graphql, --grpc, --endpoint, --workflow, --agents, and a command after --"},
		{"x --url http://a --openapi http://b", "give one of"},
		{"x --url http://a --tag b", "--tag belongs to an API"},
		{"x --openapi http://a --api-key k", "--api-key is header:NAME"},
		{"x --openapi http://a --basic k", "--basic is USER:"},
		{"x --openapi http://a --bearer k --basic a:b", "give one of --bearer"},
		{"x --openapi /no/such/file", "read the OpenAPI document"},
	} {
		flags := pflag.NewFlagSet("create", pflag.ContinueOnError)
		sourceFlags(flags)
		args := strings.Fields(row.args)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "GET_", "GET ")
		}
		if err := flags.Parse(args); err != nil {
			t.Fatal(err)
		}
		source, err := newSource(flags, flags.Args(), strings.NewReader("from stdin"))
		if err != nil {
			if strings.HasPrefix(row.want, "{") || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%s: %v", row.args, err)
			}
			continue
		}
		if got := sorted(t, source); got != row.want {
			t.Errorf("%s: got %s, want %s", row.args, got, row.want)
		}
	}
}
