package embedded

import (
	"os"
	"path/filepath"
	"strings"
)

// programs returns what windlass up may start as tool servers and executors: the examples, what MCP servers are usually started with,
// programs that have mcp in their names, and those below the folder in which windlass up was started. Shells are not among them.
func programs() []string {
	list := []string{
		"calculator", "notes", "faulty", "websearch", "summariser", "executor-process",
		"npx", "bunx", "uvx", "uv", "node", "deno", "python", "python3", "docker", "*mcp*",
	}
	if here, err := os.Getwd(); err == nil {
		list = append(list, literal(here)+"/**")
	}
	return list
}

// literal returns a pattern that matches a path, in which a space cannot be written.
func literal(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, " ", "?", "\t", "?").Replace(filepath.ToSlash(path))
}
