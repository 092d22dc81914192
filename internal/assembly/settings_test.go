package assembly

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authn/accesstoken"
	"github.com/windlass-dev/windlass/libs/authn/bearer"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/lifecycle"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/testwant"
	"github.com/windlass-dev/windlass/workflows/turn"
)

func TestRolesStartInTheirOrder(t *testing.T) {
	for _, tc := range []struct {
		roles []string
		want  string
		err   string
	}{
		{roles: AllRoles(), want: "policy inference mcpbridge knowledge registry sessions worker gateway"},
		{roles: []string{Gateway, Bus, Policy}, want: "bus policy gateway"},
		{roles: []string{Worker, Worker}, want: "worker"},
		{roles: []string{Policy, "polices"}, err: `there is no role "polices"; roles are bus, policy, `},
		{roles: nil, err: "name at least one role: bus, policy, "},
	} {
		parts, err := selected(tc.roles)
		var got []string
		for _, p := range parts {
			got = append(got, p.role)
		}
		testwant.Equal(t, strings.Join(tc.roles, " "), strings.Join(got, " "), tc.want)
		if (err == nil) != (tc.err == "") || err != nil && !strings.HasPrefix(err.Error(), tc.err) {
			t.Errorf("%v: %v, want %q", tc.roles, err, tc.err)
		}
	}
}

func TestEveryRoleThatIsCalledHasAnAddress(t *testing.T) {
	c := Defaults()
	for _, p := range table() {
		if p.rpc && (c.Mesh.Listen[p.role] == "" || c.Mesh.Targets[p.role] != c.Mesh.Listen[p.role]) {
			t.Errorf("%s listens on %q and is called at %q", p.role, c.Mesh.Listen[p.role], c.Mesh.Targets[p.role])
		}
	}
}

func TestSettingsOfTheWorker(t *testing.T) {
	versioned := func(deployment, build string) WorkerConfig {
		return WorkerConfig{Config: turn.Config{Deployment: deployment, BuildID: build}}
	}
	for _, tc := range []struct {
		name  string
		c     WorkerConfig
		eager bool
		err   string
	}{
		{name: "no version", eager: true},
		{name: "a version", c: versioned("windlass", "1")},
		{name: "no build", c: versioned("windlass", ""), err: "set both or neither"},
		{name: "no deployment", c: versioned("", "1"), err: "set both or neither"},
		{name: "a name with a dot", c: versioned("wind.lass", "1"), err: "a name without '.' and ':' is needed"},
		{name: "a name with a colon", c: versioned("wind:lass", "1"), err: "a name without '.' and ':' is needed"},
		{name: "a version and eager starts", c: versioned("windlass", "1"), eager: true, err: "leave it off with worker.deployment"},
	} {
		err := tc.c.check(tc.eager)
		if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.err)
		}
	}
	testwant.Equal(t, "the configured id", WorkerConfig{Config: turn.Config{ID: "wrk_1"}}.turn().ID, "wrk_1")
	if one, other := (WorkerConfig{}).turn().ID, (WorkerConfig{}).turn().ID; one == "" || one == other {
		t.Errorf("ids of two workers are %q and %q", one, other)
	}
}

func TestEachServiceHasItsDatabase(t *testing.T) {
	for url, want := range map[string]string{
		"sqlite:/data":               "sqlite:/data/policy.db",
		"sqlite:/data/":              "sqlite:/data/policy.db",
		"sqlite:.windlass":           "sqlite:.windlass/policy.db",
		"postgres://user@db/mesh":    "postgres://user@db/mesh",
		"postgresql://user@db/mesh?": "postgresql://user@db/mesh?",
	} {
		testwant.Equal(t, url, DatabaseConfig{URL: url}.databaseURL(Policy), want)
	}
}

func TestTheConfigurationIsRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "windlass.yaml")
	if err := os.WriteFile(file, []byte("bus:\n  replicas: 3\ngateway:\n  addr: 127.0.0.1:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name    string
		environ []string
		err     string
	}{
		{name: "the environment wins", environ: []string{"WINDLASS_GATEWAY_ADDR=127.0.0.1:2"}},
		{name: "variables of other programs of ours", environ: []string{
			"WINDLASS_SERVER=http://x", "WINDLASS_TOKEN=x", "WINDLASS_MODEL=a/b", "WINDLASS_TOOL_CALC=x", "WINDLASS_GATEWAY_ADDR=127.0.0.1:2",
		}},
		{name: "one that is misspelled", environ: []string{"WINDLASS_BUS_REPLICA=5"}, err: `did you mean "WINDLASS_BUS_REPLICAS"?`},
		{name: "one with a wrong value", environ: []string{"WINDLASS_BUS_REPLICAS=many"}, err: "bus.replicas"},
	} {
		c, err := Load(Defaults(), config.Options{File: file, Environ: tc.environ})
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: %v, want %q", tc.name, err, tc.err)
			}
			continue
		}
		testwant.Equal(t, tc.name+": the error", err, nil)
		testwant.Equal(t, tc.name+": bus.replicas", c.Bus.Replicas, 3)
		testwant.Equal(t, tc.name+": gateway.addr", c.Gateway.Addr, "127.0.0.1:2")
	}
}

func TestSettingsOfOutboundConnections(t *testing.T) {
	for _, tc := range []struct {
		name string
		c    EgressConfig
		err  string
	}{
		{name: "the defaults", c: Defaults().Egress},
		{name: "a range", c: EgressConfig{Profile: "cluster", Allow: []string{"10.1.0.0/16", "fd00::/8"}}},
		{name: "an address in place of a range", c: EgressConfig{Profile: "cluster", Allow: []string{"10.1.0.1"}}, err: `egress.allow "10.1.0.1"`},
		{name: "an unknown profile", c: EgressConfig{Profile: "everywhere"}, err: "egress: "},
	} {
		out, err := tc.c.Build()
		if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.err)
		}
		if out != nil {
			out.CloseIdle()
		}
	}
}

// TestOnlyTheIssuersConnectionsReachTheBuiltInIssuer: tools must not, whatever the profile allows.
func TestOnlyTheIssuersConnectionsReachTheBuiltInIssuer(t *testing.T) {
	public := EgressConfig{Profile: "public"}
	all, issuers, err := public.buildWith("http://127.0.0.1:8089")
	testwant.Equal(t, "the error", err, nil)
	issuer := netip.MustParseAddrPort("127.0.0.1:8089")
	if _, err := public.Build(issuer); err != nil {
		t.Fatal(err)
	}
	testwant.Equal(t, "they are two", all != issuers, true)
	all, issuers, err = public.buildWith("")
	testwant.Equal(t, "the error without an issuer", err, nil)
	testwant.Equal(t, "they are one without an issuer", all == issuers, true)
	for _, wrong := range []string{"http://localhost:8089", "http://127.0.0.1", "http://%zz"} {
		if _, _, err := public.buildWith(wrong); err == nil || !strings.Contains(err.Error(), "of the built-in issuer") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

func TestIssuersInTheConfiguration(t *testing.T) {
	c := IdentityConfig{Issuers: []bearer.Issuer{
		{
			Name: "a", Issuer: "https://a", Scopes: []string{"mesh", "email"},
			Exchange: bearer.Exchange{ClientID: "x", TokenURL: "https://a/token"},
		},
		{Name: "b", Issuer: "https://b", Scopes: []string{"mesh"}},
	}}
	issuers, scopes := c.authorization()
	testwant.Equal(t, "the issuers", issuers, []string{"https://a", "https://b"})
	testwant.Equal(t, "the scopes", scopes, []string{"email", "mesh"})
	if names := c.exchanging(); slices.Contains(names, "b") {
		t.Errorf("tokens are exchanged at %v", names)
	}
}

func TestTheTokenOfTheDataDirectoryIsAccepted(t *testing.T) {
	out, err := Defaults().Egress.Build()
	testwant.Equal(t, "the error of Build", err, nil)
	file := filepath.Join(t.TempDir(), accesstoken.File)
	auth, local, err := IdentityConfig{TokenFile: file}.authenticator(t.Context(), out, slog.New(slog.DiscardHandler), nil)
	testwant.Equal(t, "the error", err, nil)
	testwant.Equal(t, "a connection is enough", local, false)
	token := string(testwant.Must(os.ReadFile(file)))
	for _, tc := range []struct {
		name, header string
		ok           bool
	}{
		{"the token", "Bearer " + strings.TrimSpace(token), true},
		{"another token", "Bearer " + strings.TrimSpace(token) + "x", false},
		{"none", "", false},
	} {
		var headers []string
		if tc.header != "" {
			headers = []string{tc.header}
		}
		p, err := auth.Authenticate(t.Context(), authn.Credentials{Authorization: headers})
		testwant.Equal(t, tc.name, err == nil, tc.ok)
		if tc.ok {
			testwant.Equal(t, "the subject", p.GetSubject(), authn.Local().GetSubject())
		}
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]IdentityConfig{
		"identity.token_file: ":        {TokenFile: file},
		`identity.loopback is "all": `: {Loopback: "all"},
		"identity.issuers: ":           {Issuers: []bearer.Issuer{{Name: "a", Issuer: "no URL"}}},
		"use \"local\" or nothing":     {Loopback: "LOCAL"},
	} {
		_, _, err := c.authenticator(t.Context(), out, slog.New(slog.DiscardHandler), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c.Loopback, err, want)
		}
	}
}

func TestTheNamesOfAProcess(t *testing.T) {
	c := MeshConfig{Hosts: []string{"mesh.example.com"}, Targets: map[string]string{Policy: "policy-1:9090,policy-2:9090"}}
	names, err := c.names()
	testwant.Equal(t, "the error", err, nil)
	for host, want := range map[string]bool{
		"mesh.example.com": true, "policy-1": true, "policy-2": true, "policy": true, "localhost": true, "evil.example.com": false,
	} {
		testwant.Equal(t, host, names.Allow(host, nil), want)
	}
	if _, err := (MeshConfig{Hosts: []string{"mesh.example.com:9090"}}).names(); err == nil ||
		!strings.Contains(err.Error(), "mesh.hosts or mesh.targets") {
		t.Errorf("a host with a port: %v", err)
	}
}

// TestKeysOfPayloads: what was written with the mesh's key can be read after a key for payloads is configured.
func TestKeysOfPayloads(t *testing.T) {
	mesh := secret.New("the key of the mesh under test, long enough")
	for name, c := range map[string]TemporalConfig{
		"the mesh's": {Encrypt: true}, "its own": {Encrypt: true, CodecKey: secret.New("a key for payloads that is long enough")},
	} {
		if _, err := c.codec(mesh); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (TemporalConfig{Encrypt: true, CodecKey: secret.New("short")}).codec(mesh); err == nil ||
		!strings.Contains(err.Error(), "temporal.codec_key") {
		t.Errorf("a short key: %v", err)
	}
}

func TestAnAddressInUseIsNamed(t *testing.T) {
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	testwant.Equal(t, "the error of Listen", err, nil)
	t.Cleanup(func() { _ = taken.Close() })
	for _, tc := range []struct {
		name, addr, err string
	}{
		{"none", "", ""},
		{"a free one", "127.0.0.1:0", ""},
		{"one in use", taken.Addr().String(), "cannot listen on mesh.metrics " + taken.Addr().String() + " (is another process using the port?)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			group := lifecycle.Group{Log: slog.New(slog.DiscardHandler)}
			addHTTP(&group, "admin", "mesh.metrics", tc.addr, http.NotFoundHandler())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			group.Add(lifecycle.Component{Name: "ready", Start: func(context.Context) error { cancel(); return nil }})
			err := group.Run(ctx, time.Minute)
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%v, want %q", err, tc.err)
			}
		})
	}
}
