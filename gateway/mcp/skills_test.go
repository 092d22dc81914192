package mcp_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// skillRegistry has the skills of one source, whose tools answer as those of the registry do.
type skillRegistry struct {
	registry

	called []string // tools that were called, with their arguments
}

func (r *skillRegistry) ListServers(context.Context, *registryv1.ListServersRequest) (*registryv1.ListServersResponse, error) {
	return &registryv1.ListServersResponse{Servers: []*registryv1.MCPServer{
		{Source: "handbook", Skills: true}, {Source: "shop", Prompts: true},
	}}, nil
}

func (r *skillRegistry) ListTools(_ context.Context, req *registryv1.ListToolsRequest) (*registryv1.ListToolsResponse, error) {
	resp := &registryv1.ListToolsResponse{}
	for _, t := range r.tools {
		if req.GetSource() == "" || req.GetSource() == t.GetSource() {
			resp.Tools = append(resp.Tools, t)
		}
	}
	return resp, nil
}

func (r *skillRegistry) ForwardRequest(context.Context, *registryv1.ForwardRequestRequest) (*registryv1.ForwardRequestResponse, error) {
	return nil, fault.Status(fault.NotFound("there is no MCP source")).Err()
}

func (r *skillRegistry) RunTool(req *registryv1.RunToolRequest, stream grpc.ServerStreamingServer[registryv1.RunToolResponse]) error {
	r.called = append(r.called, req.GetName()+string(req.GetArgumentsJson()))
	var args struct {
		File string `json:"file"`
	}
	if err := json.Unmarshal(req.GetArgumentsJson(), &args); err != nil {
		return err
	}
	part := &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{Text: "text of " + args.File}}
	return stream.Send(&registryv1.RunToolResponse{Event: &registryv1.RunToolResponse_Result{Result: &registryv1.InvokeToolResponse{
		Content: []*turnv1.ContentPart{part}, IsError: strings.Contains(args.File, "none"),
	}}})
}

func skillTools() []*registryv1.Tool {
	return []*registryv1.Tool{
		{Name: "handbook__gone", Source: "handbook", OriginalName: "gone", Skill: true, Drifted: true},
		{Name: "handbook__notes", Source: "handbook", OriginalName: "notes", Skill: true, Description: "Writes notes."},
		{Name: "shop__notes", Source: "shop", OriginalName: "notes", Tags: []string{"skill"}}, // an API that says that it is a skill
	}
}

// TestSkillsAreResources has a client of the protocol's library list and read skills, at both endpoints.
func TestSkillsAreResources(t *testing.T) {
	for _, path := range []string{"/mcp", "/mcp/handbook"} {
		t.Run(path, func(t *testing.T) {
			r := &skillRegistry{registry: registry{tools: skillTools()}}
			c, err := client.NewStreamableHttpClient(listen(t, r) + path)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			start := mcp.InitializeRequest{Params: mcp.InitializeParams{ProtocolVersion: "2025-06-18", ClientInfo: mcp.Implementation{Name: "t"}}}
			if _, err := c.Initialize(t.Context(), start); err != nil {
				t.Fatal(err)
			}
			list, err := c.ListResources(t.Context(), mcp.ListResourcesRequest{})
			if err != nil || len(list.Resources) != 1 {
				t.Fatalf("listed %+v, %v", list, err)
			}
			if got := list.Resources[0]; got.URI != "skill://handbook/notes/SKILL.md" || got.Description != "Writes notes." ||
				got.MIMEType != "text/markdown" {
				t.Errorf("listed %+v", got)
			}
			templates, err := c.ListResourceTemplates(t.Context(), mcp.ListResourceTemplatesRequest{})
			if err != nil || len(templates.ResourceTemplates) != 1 ||
				templates.ResourceTemplates[0].URITemplate.Raw() != "skill://handbook/{skill}/{+file}" {
				t.Errorf("templates %+v, %v", templates, err)
			}
			for uri, want := range map[string]string{
				list.Resources[0].URI:                   "text of SKILL.md",
				"skill://handbook/notes/references/a b": "text of references/a b",
				"skill://handbook/notes/a%20b.json":     "text of a b.json",
			} {
				read, err := c.ReadResource(t.Context(), mcp.ReadResourceRequest{Params: mcp.ReadResourceParams{URI: uri}})
				if err != nil || len(read.Contents) != 1 {
					t.Fatalf("%s: %+v, %v", uri, read, err)
				}
				if got, ok := read.Contents[0].(mcp.TextResourceContents); !ok || got.Text != want || got.URI != uri {
					t.Errorf("%s is %+v", uri, read.Contents[0])
				}
			}
			r.called = nil
			for uri, want := range map[string]string{
				"skill://handbook/notes/none": "text of none", "skill://handbook/other/SKILL.md": "", "skill://handbook/gone/SKILL.md": "",
				"skill://shop/notes/SKILL.md": "", "skill://handbook/notes": "", "skill://handbook/notes/": "", "skill:///notes/x": "",
				"skill://handbook/notes/%zz": "", "skill://../notes/x": "",
			} {
				_, err := c.ReadResource(t.Context(), mcp.ReadResourceRequest{Params: mcp.ReadResourceParams{URI: uri}})
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v", uri, err)
				}
			}
			if got := strings.Join(r.called, " "); got != `handbook__notes{"file":"none"}` {
				t.Errorf("called %s", got) // a tool that is no skill must not be called because its resource is read
			}
		})
	}
}
