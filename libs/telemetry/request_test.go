package telemetry_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/telemetry"
)

func TestRequestIDs(t *testing.T) {
	for _, own := range []string{"abc", "req_1", "7b2c:1/x=", strings.Repeat("a", 128)} {
		if ctx, id := telemetry.WithRequestID(t.Context(), own); id != own || telemetry.RequestID(ctx) != own {
			t.Errorf("%q became %q", own, id)
		}
	}
	seen := map[string]bool{}
	for _, own := range []string{"", " ", "a b", "a\nb", "ä", strings.Repeat("a", 129), "\xff", `"x"`} {
		_, id := telemetry.WithRequestID(t.Context(), own)
		if !strings.HasPrefix(id, "req_") || seen[id] {
			t.Errorf("%q became %q", own, id)
		}
		seen[id] = true
	}
}

func TestLogLinesHaveTheRequestID(t *testing.T) {
	var out lines
	tel, err := telemetry.Setup(t.Context(), "test", "v0", config.Default[telemetry.Config](), &out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tel.Shutdown(context.Background()) })
	log := tel.Log
	ctx, _ := telemetry.WithRequestID(t.Context(), "of-the-gateway")
	log.InfoContext(ctx, "one")
	log.InfoContext(metadata.NewIncomingContext(t.Context(), metadata.Pairs("x-request-id", "of-a-role")), "two")
	log.InfoContext(metadata.NewIncomingContext(t.Context(), metadata.Pairs("x-request-id", "no id\n")), "three")
	got := out.String()
	if strings.Count(got, "request_id=") != 2 || !strings.Contains(got, "request_id=of-the-gateway") ||
		!strings.Contains(got, "request_id=of-a-role") {
		t.Error(got)
	}
}
