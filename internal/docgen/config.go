package main

import (
	"strings"

	"github.com/windlass-dev/windlass/internal/assembly"
	"github.com/windlass-dev/windlass/internal/embedded"
	"github.com/windlass-dev/windlass/libs/config"
)

// longDefault is the length from which a default is not shown in the table.
const longDefault = 90

const configIntro = `Everything that can be configured, with the names it has in a YAML file and in the environment. Later sources win:
defaults, then the file named by ` + "`--config`" + `, then the environment, then flags. A name that does not exist is a mistake, and is
refused with its place. Give secrets in the environment, or as ` + "`${env:NAME}`" + ` in the file where the description says so.

A list in the environment is separated by commas, a map is written ` + "`name=value,name=value`" + `. ` + "`<name>`" + ` stands for a key
of your choice; what is inside a list (` + "`[]`" + `) can be set in the file only. ` + "`windlassd config`" + ` prints the same list.`

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
		{"WINDLASS_SERVER", "The server that the commands of `windlass` speak to, where `--server` says nothing."},
		{"WINDLASS_TOOL_*", "Yours: tool servers may refer to these as `${env:NAME}`, see `mcpbridge.env_allow`."},
		{"OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL", "A provider named `openai`, where `inference.detect` is on."},
		{"ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, ANTHROPIC_MODEL", "A provider named `anthropic`, where `inference.detect` is on."},
		{"OLLAMA_HOST", "Where to look for Ollama, where `inference.detect` is on."},
	} {
		w.line("| %s | %s |", code(row[0]), row[1])
	}
	return nil
}

// defaults shows the default of windlassd, and that of windlass up if it is another.
func defaults(daemon, up string) string {
	text := shown(daemon)
	if up == daemon {
		return text
	}
	if up == "" {
		return text + "; empty in `windlass up`"
	}
	if text == "" {
		return shown(up) + " in `windlass up`"
	}
	return text + "; " + shown(up) + " in `windlass up`"
}

func shown(def string) string {
	if len(def) > longDefault {
		return "see `windlassd config`"
	}
	return code(def)
}
