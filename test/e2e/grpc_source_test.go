package e2e

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestTheMeshIsASourceOfItsOwnTools: the mesh serves gRPC with reflection, so its methods are tools.
func TestTheMeshIsASourceOfItsOwnTools(t *testing.T) {
	t.Parallel()
	address, _ := shared().Ready["grpc"].(string)
	c := client(t)
	src := c.Must("POST", "/v1/sources", harness.JSON{"name": "mesh-grpc", "kind": "grpc", "url": "grpc://" + address})
	defer c.Must("DELETE", "/v1/sources/mesh-grpc", nil)
	count, _ := src["tool_count"].(float64)
	if src.Str("state") != "ready" || count < 50 {
		t.Fatalf("the source: %v", src)
	}
	list := invoke(c, "mesh-grpc__AgentService_ListAgents", harness.JSON{"pageSize": 100})
	content, _ := list["content"].([]any)
	if got := text(content); !strings.Contains(got, `"id":"assistant"`) || list["is_error"] == true {
		t.Errorf("its agents: %v", list)
	}
	missing := invoke(c, "mesh-grpc__AgentService_GetAgent", harness.JSON{"agentId": "no-such-agent"})
	content, _ = missing["content"].([]any)
	if got := text(content); missing["is_error"] != true || !strings.HasPrefix(got, "The method answered NOT_FOUND: ") ||
		!strings.Contains(got, `"domain":"windlass.dev"`) {
		t.Errorf("an agent that is not there: %v", missing)
	}
	for tool, effect := range map[string]string{
		"AgentService_ListAgents": "read", "AgentService_CreateAgent": "once", "AgentService_DeleteAgent": "idempotent",
	} {
		if got := c.Must("GET", "/v1/tools/mesh-grpc__"+tool, nil); got.Str("effect") != effect {
			t.Errorf("%s is %q, want %s", tool, got.Str("effect"), effect)
		}
	}
}
