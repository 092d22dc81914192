package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/assembly"
	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/libs/config"
)

// reference returns the command that lists all configuration keys.
func reference(a *app.App) *cobra.Command {
	var markdown bool
	cmd := &cobra.Command{
		Use:   "config [SECTION]",
		Short: "Describe what can be configured",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case markdown:
				return writeMarkdown(a.Out, assembly.Keys())
			case len(args) == 0:
				return writeSections(a.Out, assembly.Keys())
			}
			return writeKeys(a.Out, assembly.Keys(), args[0])
		},
	}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print everything as a Markdown table")
	return cmd
}

// screen is how many columns the text for people has.
const screen = 100

// writeSections lists the sections of the configuration.
func writeSections(w io.Writer, keys []config.Key) error {
	counts := map[string]int{}
	var names []string
	for _, k := range keys {
		name, _, _ := strings.Cut(k.Path, ".")
		if counts[name]++; counts[name] == 1 {
			names = append(names, name)
		}
	}
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "%-12s %3d keys\n", name, counts[name])
	}
	b.WriteString("\n'windlassd config SECTION' describes the keys of a section, 'windlassd config all' all of them.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// writeKeys describes the keys of a section, or one key; "all" means all.
func writeKeys(w io.Writer, keys []config.Key, name string) error {
	var b strings.Builder
	for _, k := range keys {
		if name != "all" && k.Path != name && !strings.HasPrefix(k.Path, name+".") {
			continue
		}
		fmt.Fprintf(&b, "%s  (%s)\n", k.Path, k.Type)
		if k.Default != "" {
			b.WriteString(wrap("default " + k.Default))
		}
		b.WriteString(wrap(k.Doc))
	}
	if b.Len() == 0 {
		return app.Usage("there is no section or key %q; 'windlassd config' lists the sections", name)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// wrap breaks a text into indented lines that fit the screen.
func wrap(text string) string {
	const indent = "    "
	var b strings.Builder
	line := indent
	for word := range strings.FieldsSeq(text) {
		if len(line)+len(word) > screen && line != indent {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = indent
		}
		line += word + " "
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
	return b.String()
}

func writeMarkdown(w io.Writer, keys []config.Key) error {
	var b strings.Builder
	b.WriteString("| Key | Environment variable | Type | Default | Meaning |\n|---|---|---|---|---|\n")
	for _, k := range keys {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", code(k.Path), code(k.Env), k.Type, code(k.Default), cell(k.Doc))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + cell(s) + "`"
}

// cell keeps text inside its column.
func cell(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "|", `\|`), "\n", " ") }

func daemonVersion(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this binary as JSON", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return json.NewEncoder(a.Out).Encode(a.Build()) },
	}
}
