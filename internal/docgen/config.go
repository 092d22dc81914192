package main

import (
	"strings"

	"github.com/windlass-dev/windlass/internal/assembly"
	"github.com/windlass-dev/windlass/internal/embedded"
	"github.com/windlass-dev/windlass/libs/config"
)

// longDefault is the length from which a default is omitted from the table.
const longDefault = 90

const configIntro = `All settings, with their names in a YAML file and in the environment. Later sources override earlier ones: defaults, the file
given with ` + "`--config`" + `, the environment, flags. An unknown name is an error, which names its position. Set secrets in the environment,
or refer to them as ` + "`${env:NAME}`" + ` in the file where the description says so.

In the environment, list items are separated by commas, and a map is written ` + "`name=value,name=value`" + `. ` + "`<name>`" + ` is a key that you
choose. Fields of list items (` + "`[]`" + `) can be set only in the file. ` + "`windlassd config all`" + ` prints the same list.`

// writeConfig writes the page of configuration keys: the defaults of windlassd, and those of windlass up where they differ.
func writeConfig(w *writer, _ string) error {
	w.title("Configuration", configIntro)
	up := map[string]string{}
	for _, k := range config.Describe(embedded.Defaults(), assembly.EnvPrefix) {
		up[k.Path] = k.Default
	}
	area := ""
	for _, k := range assembly.Keys() {
		name, _, _ := strings.Cut(k.Path, ".")
		if name != area {
			area = name
			w.line("\n## %s\n\n| Key | Environment | Type | Default | Meaning |\n|---|---|---|---|---|", area)
		}
		w.line("| %s | %s | %s | %s | %s |", code(k.Path), code(k.Env), k.Type, defaults(k.Default, up[k.Path]), cell(sentence(k.Doc)))
	}
	w.line("\n## Variables outside this list\n")
	w.line("| Variable | Meaning |\n|---|---|")
	for _, row := range [][2]string{
		{"WINDLASS_MODEL", "Short for `WINDLASS_INFERENCE_DEFAULT_MODEL`."},
		{"WINDLASS_SERVER", "Address of the server for the commands of `windlass`, if `--server` is not set."},
		{"WINDLASS_TOOL_*", "Secrets of tool servers: sources can refer to these as `${env:NAME}`, see `mcpbridge.env_allow`."},
		{"OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL", "Define a provider named `openai`, if `inference.detect` is on."},
		{"ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, ANTHROPIC_MODEL", "Define a provider named `anthropic`, if `inference.detect` is on."},
		{"GEMINI_API_KEY, GEMINI_BASE_URL, GEMINI_MODEL", "Define a provider named `gemini`, if `inference.detect` is on."},
		{"OLLAMA_HOST", "Address of Ollama, if `inference.detect` is on."},
	} {
		w.line("| %s | %s |", code(row[0]), row[1])
	}
	return nil
}

// defaults returns the default of windlassd, and that of windlass up if it differs.
func defaults(daemon, up string) string {
	text := shortDefault(daemon)
	if up == daemon {
		return text
	}
	if up == "" {
		return text + "; empty in `windlass up`"
	}
	if text == "" {
		return shortDefault(up) + " in `windlass up`"
	}
	return text + "; " + shortDefault(up) + " in `windlass up`"
}

func shortDefault(def string) string {
	if len(def) > longDefault {
		return "see `windlassd config all`"
	}
	return code(def)
}
