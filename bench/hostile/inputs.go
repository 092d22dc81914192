// Package hostile has inputs that are meant to exhaust a mesh, and a server that answers with them.
package hostile

import (
	"fmt"
	"strings"
	"sync"
)

// MiB is a mebibyte.
const MiB = 1 << 20

// large far exceeds every limit of ours.
const large = 60 * MiB

func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

func nest(n int, open, inner, end string) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
}

// Body is one hostile request.
type Body struct {
	Name, Path, Text string
	// Header is a name and a value, empty for none.
	Header [2]string
	// Chunked: its length is not announced.
	Chunked bool
}

// Bodies are requests over REST; SESSION stands for the id of a session.
func Bodies() map[string][]Body {
	const turns, sessions, agents = "/v1/sessions/SESSION/turns", "/v1/sessions", "/v1/agents"
	deep := strings.Repeat("[", 2*MiB-100)
	return map[string][]Body{
		"turns": {
			{Name: "60 MB", Path: turns, Text: `{"input":"` + strings.Repeat("x", large) + `"}`},
			{Name: "60 MB, not announced", Path: turns, Text: `{"input":"` + strings.Repeat("x", large) + `"}`, Chunked: true},
			{Name: "brackets", Path: turns, Text: deep},
			{Name: "a member again and again", Path: turns, Text: "{" + strings.Repeat(`"input":"x",`, 90_000) + `"input":"y"}`},
			{Name: "many unknown members", Path: turns, Text: "{" + numbered(90_000, `"f%d":1,`) + "}"},
			{Name: "empty parts", Path: turns, Text: `{"content":[` + strings.Repeat("{},", 49_000) + `{}]}`},
			{Name: "many values", Path: turns, Text: `{"content":[` + strings.Repeat("{},", 600_000) + `{}]}`},
			{Name: "a long number", Path: turns, Text: `{"limits":{"max_steps":` + strings.Repeat("9", 2*MiB-100) + `}}`},
			{Name: "compressed", Path: turns, Text: "\x1f\x8b\x08\x00", Header: [2]string{"Content-Encoding", "gzip"}},
			{Name: "a header of 1 MiB", Path: turns, Text: `{"input":"x"}`, Header: [2]string{"X-Long", strings.Repeat("x", MiB)}},
		},
		"agents": {
			{Name: "600,000 tools", Path: agents, Text: `{"id":"a","tools":[` + strings.Repeat(`"",`, 600_000) + `""]}`},
			{Name: "as many tools as a body holds", Path: agents, Text: `{"id":"a","tools":[` + strings.Repeat(`"group:a",`, 95_000) + `""]}`},
			{Name: "sub-agents", Path: agents, Text: `{"id":"a","agents":[` + strings.Repeat(`"a",`, 95_000) + `"a"]}`},
			{Name: "empty rules", Path: agents, Text: `{"id":"a","approvals":[` + strings.Repeat("{},", 49_000) + `{}]}`},
			{Name: "labels", Path: agents, Text: `{"id":"a","labels":{` + numbered(90_000, `"k%d":"",`) + `}}`},
		},
		"params_schema": schemaBodies(agents, `{"id":"a","params_schema":`, "}"),
		"input_schema":  schemaBodies(turns, `{"input":"x","tools":[{"name":"t","input_schema":`, "}]}"),
		"sessions": {
			{
				Name: "params that try two ways at each level", Path: sessions,
				Text: `{"agent_id":"ways","params":` + nest(90, `{"a":`, "{}", "}") + `}`,
			},
			{Name: "params that collide", Path: sessions, Text: `{"agent_id":"unique","params":{"a":[` + colliding(1900) + `]}}`},
			{Name: "many params", Path: sessions, Text: `{"agent_id":"ways","params":{` + numbered(90_000, `"k%d":1,`) + `}}`},
			{Name: "deep params", Path: sessions, Text: `{"agent_id":"ways","params":` + nest(190, `{"a":`, "1", "}") + `}`},
		},
	}
}

// Agents have params_schemas that are within the limits and expensive.
func Agents() map[string]string {
	return map[string]string{
		"ways": `{"type":"object","$ref":"#/$defs/n","$defs":{"n":{"anyOf":[{"properties":{"a":{"$ref":"#/$defs/n"}},"not":{}},
			{"properties":{"a":{"$ref":"#/$defs/n"}},"not":true}]}}}`,
		"unique": `{"type":"object","properties":{"a":{"type":"array","uniqueItems":true}}}`,
	}
}

// colliding returns lists of texts that are equal when concatenated without delimiters.
func colliding(n int) string {
	parts := make([]string, n)
	for i := range parts {
		var b strings.Builder
		for bit := range 11 {
			b.WriteString("x")
			if i>>bit&1 == 1 {
				b.WriteString(`","`)
			} else {
				b.WriteString(`\u0004`)
			}
		}
		parts[i] = `["` + b.String() + `"]`
	}
	return strings.Join(parts, ",")
}

func schemaBodies(path, begin, end string) []Body {
	doubling := `{"type":"object","$ref":"#/$defs/d0","$defs":{` +
		numbered(30, `"d%[1]d":{"allOf":[{"$ref":"#/$defs/e%[1]d"},{"$ref":"#/$defs/e%[1]d"}]},`) + `}}`
	for i := range 30 {
		doubling = strings.ReplaceAll(doubling, fmt.Sprintf("/e%d\"", i), fmt.Sprintf("/d%d\"", i+1))
	}
	var out []Body
	for _, row := range [][2]string{
		{"each applies the next twice", strings.Replace(doubling, `"$defs":{`, `"$defs":{"d30":true,`, 1)},
		{"deep", nest(90, `{"not":`, "true", "}")},
		{"as many subschemas as there may be", `{"type":"object","properties":{` + numbered(4900, `"p%d":{"type":"string"},`) + `}}`},
		{"as many patterns as there may be", `{"type":"object","properties":{` + numbered(50, `"p%d":{"pattern":"(a{1,30}b?){1,15}"},`) + `}}`},
		{"a pattern that repeats repetitions", `{"type":"object","properties":{"a":{"pattern":"` + strings.Repeat("(a{900})", 100) + `"}}}`},
		{"a loop", `{"type":"object","allOf":[{"$ref":"#"}]}`},
		{"a large enum", `{"type":"object","properties":{"a":{"enum":[` + numbered(45_000, "%d,") + `]}}}`},
		{"a large exponent", `{"type":"object","properties":{"a":{"maximum":1e308,"multipleOf":1e-308}}}`},
	} {
		out = append(out, Body{Name: row[0], Path: path, Text: begin + row[1] + end})
	}
	return out
}

// Bundles are YAML; those that reach the parser stay just below the limits.
func Bundles() map[string]string {
	const agent = "kind: agent\nid: a\n"
	return map[string]string{
		"500,000 items":                 agent + "tools: [" + strings.Repeat("a,", 500_000) + "a]",
		"as many items as there may be": agent + "tools: [" + strings.Repeat("a,", 49_900) + "a]",
		"groups":                        agent + "tools: [" + numbered(24_000, "group:g%d,") + "]",
		"sub-agents":                    agent + "agents: [" + numbered(49_000, "a%d,") + "]",
		"sub-agents in many agents":     numbered(900, "---\nkind: agent\nid: b%[1]d\nagents: [x%[1]d, y, z]\n"),
		"keys":                          agent + "params_schema: {" + numbered(24_000, "k%d: 1,") + "}",
		"unknown keys":                  agent + numbered(49_000, "k%d: 1\n"),
		"empty messages":                agent + "approvals: [" + strings.Repeat("{},", 24_000) + "]",
		"approval rules": numbered(15,
			"---\nkind: agent\nid: c%d\napprovals: ["+numbered(60, "{Name: r%d, condition: 'arguments.a == 1 && arguments.b < 2'},")+"]\n"),
		"deep blocks and comments":        strings.Repeat("- ", 9000) + "\n" + strings.Repeat("#\n\n", 300_000),
		"deep blocks and comments, below": strings.Repeat("- ", 240) + "a\n" + strings.Repeat("#\n\n", 49_000) + "- b\n",
		"aliases of aliases":              agent + "labels: &a [a,a,a]\ntools: &b [*a,*a,*a]\nshields: &c [*b,*b,*b]\nagents: [*c,*c,*c]",
		"directives":                      numbered(60_000, "%%TAG !a%d! b\n") + "---\na",
		"documents":                       numbered(990, "---\nkind: agent\nid: A%d\n"),
		"a long id with mistakes":         "kind: agent\nid: " + strings.Repeat("x", MiB/2) + "\n" + numbered(200, "k%d: 1\n"),
		"a large number":                  agent + "max_output_tokens: " + strings.Repeat("9", MiB-100),
	}
}

// Streams are answers of a model, by the model's name.
var Streams = sync.OnceValue(func() map[string]repeated {
	piece := `data: {"choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\n"
	calls := `data: {"choices":[{"delta":{"tool_calls":[`
	return map[string]repeated{
		"line-of-60-mb":     {"data: ", "xxxxxxxxxx", large, "\n\n"},
		"event-without-end": {"", "data: x\n", large, ""},
		"comments":          {"", ":\n", large, ""},
		"line-feeds":        {"", "\n", large, ""},
		"tiny-events":       {"", "data:{}\n\n", large, ""},
		"pieces":            {"", piece, large, ""},
		"deep":              {"data: ", `{"a":`, 7 * MiB, "\n\n"},
		"choices":           {`data: {"choices":[`, "{},", 7 * MiB, "{}]}\n\n"},
		"choices-below":     {`data: {"choices":[`, "{},", 140_000, "{}]}\n\n"},
		"unnamed-calls":     {calls, `{"index":1},{"index":2},{"index":3},`, 600_000, "{}]}}]}\n\n"},
		"unnamed-arguments": {"", calls + `{"index":0,"function":{"arguments":"0123456789"}}]}}]}` + "\n\n", large, ""},
		"long-number":       {`data: {"usage":{"prompt_tokens":1`, "0", 7 * MiB, "}}\n\n"},
		"not-utf-8":         {"data: ", "\xff", 7 * MiB, "\n\n"},
		headers:             {"", "\n", 1, ""},
	}
})

// Lists are results of tools/list, by the server's name.
var Lists = sync.OnceValue(func() map[string]repeated {
	const tool = `{"name":"t","inputSchema":{"type":"object"}},`
	return map[string]repeated{
		"list-of-60-mb":  {`{"tools":[`, tool, large, tool[:len(tool)-1] + "]}"},
		"list-deep":      {`{"tools":[{"name":"t","inputSchema":`, `{"not":`, 14 * MiB, ""},
		"list-values":    {`{"tools":[`, `{},`, 14 * MiB, "{}]}"},
		"list-same-tool": {`{"tools":[`, tool, 14 * MiB, tool[:len(tool)-1] + "]}"},
		"list-many-tools": {`{"tools":[` + numbered(9_900,
			`{"name":"t%d","inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}},`), "", 0, "]}"},
		"list-pages": {`{"tools":[],"nextCursor":"`, "x", 10, `"}`},
		headers:      {`{"tools":[`, " ", 1, "]}"},
	}
})

// Results are results of tools/call, by the server's name.
var Results = sync.OnceValue(func() map[string]repeated {
	const part = `{"type":"text","text":"a"},`
	return map[string]repeated{
		"call-of-60-mb": {`{"content":[{"type":"text","text":"`, "xxxxxxxxxx", large, `"}]}`},
		"call-parts":    {`{"content":[`, part, 7 * MiB, part[:len(part)-1] + "]}"},
		"call-values":   {`{"content":[],"structuredContent":{"a":[`, "1,", 7 * MiB, "1]}}"},
		"call-deep":     {`{"content":[],"structuredContent":`, `{"a":`, 7 * MiB, "1}"},
		"call-image":    {`{"content":[{"type":"image","mimeType":"image/png","data":"`, "AAAA", 9 * MiB, `"}]}`},
		"call-members":  {`{`, `"content":[],`, 7 * MiB, `"isError":false}`},
	}
})

// Hooks are answers of receivers of webhooks.
var Hooks = sync.OnceValue(func() map[string]repeated {
	return map[string]repeated{
		"60-mb":     {"", "xxxxxxxxxx", large, ""},
		headers:     {},
		"redirect":  {},
		"slow-drip": {},
	}
})
