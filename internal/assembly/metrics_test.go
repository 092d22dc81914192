package assembly

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/gateway"
	"github.com/windlass-dev/windlass/libs/metrics"
	"github.com/windlass-dev/windlass/libs/rpc"
)

// TestCertificatesOfFilesAreMeasured: an operator hears of those that only the operator renews, and of no other.
func TestCertificatesOfFilesAreMeasured(t *testing.T) {
	own := ownAuthority(t, "the key of the mesh under test, long enough", Gateway)
	derived := MeshConfig{Key: own.Key, TLS: MeshTLSConfig{Mode: TLSRequired}}
	https := gateway.Config{TLS: gateway.TLSConfig{Cert: own.TLS.Cert, Key: own.TLS.Key}}
	for _, row := range []struct {
		name  string
		cfg   Config
		roles []string
		want  []string
	}{
		{name: "derived", cfg: Config{Mesh: derived}, roles: []string{Worker}},
		{name: "the operator's", cfg: Config{Mesh: own}, roles: []string{Worker}, want: []string{"mesh"}},
		{name: "HTTPS", cfg: Config{Mesh: derived, Gateway: https}, roles: []string{Gateway}, want: []string{"gateway"}},
		{name: "HTTPS of another process", cfg: Config{Mesh: derived, Gateway: https}, roles: []string{Worker}},
	} {
		p := &Process{cfg: row.cfg, opts: Options{Roles: row.roles, Network: rpc.TCP{}}}
		sources, err := p.certificateFiles()
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Sorted(maps.Keys(sources)); !slices.Equal(got, row.want) {
			t.Errorf("%s: the certificates are for %q, want %q", row.name, got, row.want)
		}
		values, err := expiries(sources, time.Now())
		if err != nil || len(values) != len(row.want) {
			t.Errorf("%s: %d expire, %v", row.name, len(values), err)
		}
	}
	in := (&Process{}).measure()
	if i := slices.IndexFunc(in, func(v metrics.Value) bool { return v.Metric == metrics.MemoryUsed }); i < 0 || in[i].Number < 1<<16 {
		t.Errorf("memory in use is not measured: %+v", in)
	}
}
