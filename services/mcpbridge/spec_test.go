package mcpbridge_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/mcpbridge"
)

func TestEntriesThatAreNotRight(t *testing.T) {
	t.Setenv("WINDLASS_TOOL_SET", "set-value")
	t.Setenv("OTHER_SECRET", "other-value")
	type server = mcpbridgev1.Server
	for name, row := range map[string]struct {
		server *server
		field  string
		want   string
	}{
		"neither":            {&server{}, "server", "url or command"},
		"both":               {&server{Url: "http://x/", Command: []string{"x"}}, "server", "exclude"},
		"no scheme":          {&server{Url: "localhost:80/mcp"}, "server.url", "http"},
		"file":               {&server{Url: "file:///etc/passwd"}, "server.url", "http"},
		"stdio for a url":    {&server{Url: "http://x/", Transport: "stdio"}, "server.transport", "stdio"},
		"http for a command": {&server{Command: []string{"x"}, Transport: "http"}, "server.transport", "url"},
		"empty program":      {&server{Command: []string{""}}, "server.command", "empty"},
		"not allowed": {
			&server{Command: []string{"x"}, Env: map[string]string{"A": "${env:OTHER_SECRET}"}}, "server.env[A]",
			"OTHER_SECRET",
		},
		"not set": {
			&server{Command: []string{"x"}, Env: map[string]string{"A": "${env:WINDLASS_TOOL_UNSET}"}}, "server.env[A]",
			"WINDLASS_TOOL_UNSET",
		},
		"not allowed header": {
			&server{Url: "http://x/", Headers: map[string]string{"A": "Bearer ${env:HOME}"}}, "server.headers[A]",
			"env_allow",
		},
		"protocol's header": {
			&server{Url: "http://x/", Headers: map[string]string{"mcp-session-id": "1"}}, "server.headers[mcp-session-id]",
			"own",
		},
		"a key for all calls": {
			&server{Url: "http://x/", Headers: map[string]string{"idempotency-key": "1"}}, "server.headers[idempotency-key]",
			"key of its own",
		},
		"header with newline": {&server{Url: "http://x/", Headers: map[string]string{"A": "b\nc"}}, "server.headers[A]", "valid"},
		"name with =":         {&server{Command: []string{"x"}, Env: map[string]string{"A=B": "c"}}, "server.env", "="},
	} {
		t.Run(name, func(t *testing.T) {
			row.server.Id = "src_x"
			_, err := newBridge(t).Discover(t.Context(), &mcpbridgev1.DiscoverRequest{Server: row.server})
			f := fault.From(err)
			if f == nil || f.Reason != faultv1.Reason_REASON_INVALID_ARGUMENT || len(f.Fields) != 1 {
				t.Fatalf("got %v", err)
			}
			if f.Fields[0].Path != row.field || !strings.Contains(f.Fields[0].Message, row.want) || strings.Contains(err.Error(), "-value") {
				t.Errorf("got %v, want %s with %q", f.Fields[0], row.field, row.want)
			}
		})
	}
}

func TestArgumentsMustBeAnObject(t *testing.T) {
	s := &mcpbridgev1.Server{Id: "src_x", Url: "http://127.0.0.1:1/"}
	for _, arguments := range []string{"7", "[]", "null", "{", `{"a":}`, "{} {}"} {
		if _, _, err := newBridge(t).call(t.Context(), s, "x", arguments); !fault.Is(err, faultv1.Reason_REASON_INVALID_ARGUMENT) {
			t.Errorf("%s: got %v", arguments, err)
		}
	}
}

func TestProgramsAreFoundInConfiguredFolders(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "windlass-test-tool")); err != nil {
		t.Fatal(err)
	}
	s := stdioServer(t, "modern")
	s.Command = []string{"windlass-test-tool"}
	b := newBridge(t, func(c *mcpbridge.Config) { c.CommandPath = []string{dir} })
	if res := b.discover(t, s); len(res.GetTools()) == 0 {
		t.Error("no tools")
	}
}

func TestS21OnlyListedProgramsAreToolServers(t *testing.T) {
	for name, row := range map[string]struct {
		list  []string
		env   map[string]string
		field string // "" means that it starts
	}{
		"by default none": {list: nil, field: "server.command"},
		"another one":     {list: []string{"/opt/tools/*"}, field: "server.command"},
		"other arguments": {list: []string{os.Args[0] + " --only-this"}, field: "server.command"},
		"this one":        {list: []string{os.Args[0]}},
		"a variable that loads": {
			list: []string{os.Args[0]}, env: map[string]string{"LD_PRELOAD": "/tmp/x.so"}, field: "server.command",
		},
		"a variable of its own":   {list: []string{os.Args[0]}, env: map[string]string{"REGION": "eu"}},
		"any, with any variables": {list: []string{"*"}, env: map[string]string{"PYTHONPATH": "/x"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := stdioServer(t, "modern")
			s.Command[0] = os.Args[0]
			maps.Copy(s.GetEnv(), row.env)
			b := newBridge(t, func(c *mcpbridge.Config) { c.Programs = row.list })
			_, err := b.Discover(t.Context(), &mcpbridgev1.DiscoverRequest{Server: s})
			if row.field == "" {
				if err != nil {
					t.Errorf("it does not start: %v", err)
				}
				return
			}
			if f := fault.From(err); f == nil || len(f.Fields) != 1 || f.Fields[0].Path != row.field {
				t.Errorf("got %v, want %s refused", err, row.field)
			}
			if row.field == "server.command" && !strings.Contains(err.Error(), "mcpbridge.programs") {
				t.Errorf("%v does not say what to configure", err)
			}
		})
	}
}

func TestConfigurationsThatMakeNoSense(t *testing.T) {
	for name, change := range map[string]func(*mcpbridge.Config){
		"negative time":   func(c *mcpbridge.Config) { c.CallTimeout = -1 },
		"negative number": func(c *mcpbridge.Config) { c.MaxCalls = -1 },
		"huge results":    func(c *mcpbridge.Config) { c.MaxResultBytes = 1 << 30 },
		"broken glob":     func(c *mcpbridge.Config) { c.EnvAllow = []string{"["} },
		"a broken list":   func(c *mcpbridge.Config) { c.Programs = []string{"./here"} },
		"negative limit":  func(c *mcpbridge.Config) { c.Limits.Files = -1 },
		"min over max":    func(c *mcpbridge.Config) { c.ReconnectMin = c.ReconnectMax + 1 },
	} {
		cfg := config.Default[mcpbridge.Config]()
		change(&cfg)
		if _, err := mcpbridge.New(cfg, mcpbridge.Deps{Egress: testEgress(t), Log: testLog()}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := mcpbridge.New(config.Default[mcpbridge.Config](), mcpbridge.Deps{}); err == nil {
		t.Error("missing dependencies: accepted")
	}
}
