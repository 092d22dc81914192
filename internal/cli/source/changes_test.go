package source

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestChanges: only what the flags name is changed, and an empty value clears a field.
func TestChanges(t *testing.T) {
	for _, row := range []struct{ args, want string }{
		{"x --timeout 7", `call_timeout_seconds {"call_timeout_seconds":7}`},
		{"x --timeout 0 --exclude= --pin=false --base-url=", `base_url,call_timeout_seconds,exclude,pin {}`},
		{"x npx server", `command {"command":["npx","server"]}`},
		{"x --bearer ${env:T}", `auth {"auth":{"kind":"bearer","secret":"${env:T}"}}`},
		{"x --bearer=", `auth {}`},
		{"x --openapi https://a/o.json", `document,url {"url":"https://a/o.json"}`},
		{"x --openapi -", `document,url {"document":"from stdin"}`},
		{"x --graphql http://a/q --operation a*", `operations,url {"operations":{"names":["a*"]},"url":"http://a/q"}`},
		{"x --grpc a:1 --tls", `url {"url":"grpcs://a:1"}`},
		{"x --descriptor-set -", `descriptor_set {"descriptor_set":"ZnJvbSBzdGRpbg=="}`},
		{"x --agents a,b", `agents {"agents":["a","b"]}`},
		{"x --header X-A=1 --env B=2", `env,headers {"env":{"B":"2"},"headers":{"X-A":"1"}}`},
		{"x --temporal t:1 --workflow w@q", `temporal,workflows {"temporal":{"address":"t:1"},"workflows":[{"name":"w","task_queue":"q"}]}`},
		{"x --tls", "--tls belongs to --grpc"},
		{"x --poll", "--poll belongs to --workflow"},
		{"x --bearer a --basic b:c", "give one of --bearer"},
		{"x", "name what to change"},
	} {
		flags := pflag.NewFlagSet("update", pflag.ContinueOnError)
		sourceFlags(flags)
		if err := flags.Parse(strings.Fields(row.args)); err != nil {
			t.Fatal(err)
		}
		source, fields, err := changes(flags, flags.Args(), strings.NewReader("from stdin"))
		if err != nil {
			if !strings.Contains(err.Error(), row.want) {
				t.Errorf("%s: %v", row.args, err)
			}
			continue
		}
		if got := strings.Join(fields, ",") + " " + sorted(t, source); got != row.want {
			t.Errorf("%s: got %s, want %s", row.args, got, row.want)
		}
	}
}
