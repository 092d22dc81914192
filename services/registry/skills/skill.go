package skills

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/services/registry/store"
)

// mainFile makes a folder a skill.
const mainFile = "SKILL.md"

// skill is a skill, as it is stored: the definition of a tool.
type skill struct {
	// Name, Description, License, Compatibility and Tools are what its front matter says.
	Name          string   `json:"name"`
	Description   string   `json:"description"`
	License       string   `json:"license,omitempty"`
	Compatibility string   `json:"compatibility,omitempty"`
	Tools         []string `json:"allowed_tools,omitempty"`
	// NeedsCode is why it cannot be used without running code; empty = it can.
	NeedsCode string `json:"needs_code,omitempty"`
	// Files are all files, by path.
	Files []file `json:"files"`
}

// file is a file of a skill.
type file struct {
	// Path is relative to the folder of the skill.
	Path string `json:"path"`
	// Size is in bytes, and Sum the SHA-256 in hex.
	Size int64  `json:"size"`
	Sum  string `json:"sha256"`
	// Script is true if it is made to be run.
	Script bool `json:"script,omitempty"`
	// Lines is its text without the line feeds, so that the difference of two definitions can be read; nil if it is not text or too long.
	Lines []string `json:"lines,omitempty"`

	executable bool // in the folder or the archive
	program    bool // by its first bytes
}

func (f file) text() string { return strings.Join(f.Lines, "\n") }

// tool returns the skill as a tool.
func (k skill) tool() (store.Found, error) {
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(k); err != nil {
		return store.Found{}, err
	}
	t := store.Found{
		OriginalName: k.Name, Title: k.Name, Raw: bytes.TrimSpace(raw.Bytes()), InputSchema: []byte(inputSchema), Effect: store.Read,
		Description: k.Description + "\n\nA skill: a call returns its instructions.", Tags: []string{tagSkill},
	}
	if k.NeedsCode != "" {
		t.Description = "Needs code, so it cannot be loaded here. " + k.Description
		t.Tags = append(t.Tags, tagNeedsCode)
	}
	return t, nil
}

// decode reads a stored definition.
func decode(raw []byte) (k skill, err error) { return k, json.Unmarshal(raw, &k) }

// load returns the text of a file, or for an empty name the instructions with a list of the other files. The error is for the model.
func (k skill) load(name string) (string, error) {
	if k.NeedsCode != "" {
		return "", fmt.Errorf("the skill %q needs to run code (%s), and no environment for that is configured: it cannot be loaded. "+
			"Do without it", k.Name, k.NeedsCode)
	}
	if name == "" {
		return k.instructions()
	}
	at := slices.IndexFunc(k.Files, func(f file) bool { return f.Path == path.Clean(name) })
	switch {
	case at < 0:
		return "", fmt.Errorf("the skill %q has no file %q. Its files are: %s", k.Name, name, k.paths())
	case k.Files[at].Lines == nil:
		return "", fmt.Errorf("the file %q of the skill %q cannot be loaded: %s", name, k.Name, k.Files[at].unreadable())
	}
	return k.Files[at].text(), nil
}

// unreadable says why a file without text has none.
func (f file) unreadable() string {
	if f.Size > maxText {
		return fmt.Sprintf("it has %d bytes, and the limit is %d", f.Size, maxText)
	}
	return fmt.Sprintf("it is binary, %d bytes", f.Size)
}

// pathsListed limits the files that are listed for a model.
const pathsListed = 200

// paths lists the files for a model that named another.
func (k skill) paths() string {
	var paths []string
	for _, f := range k.Files[:min(len(k.Files), pathsListed)] {
		paths = append(paths, f.Path)
	}
	return strings.Join(paths, ", ")
}

// instructions returns the body of SKILL.md, and what other files there are.
func (k skill) instructions() (string, error) {
	var out strings.Builder
	for _, f := range k.Files {
		if f.Path == mainFile {
			_, body, err := split(f.text())
			if err != nil {
				return "", err
			}
			out.WriteString(strings.TrimSpace(body))
		}
	}
	if k.Compatibility != "" {
		fmt.Fprintf(&out, "\n\nCompatibility: %s", k.Compatibility)
	}
	if k.License != "" {
		fmt.Fprintf(&out, "\n\nLicense: %s", k.License)
	}
	if len(k.Files) > 1 {
		out.WriteString("\n\nFiles of this skill. Call it with the argument file to load one:")
	}
	listed := 0
	for _, f := range k.Files {
		switch {
		case f.Path == mainFile:
			continue
		case listed == pathsListed:
			fmt.Fprintf(&out, "\n- and %d more", len(k.Files)-1-listed)
			return out.String(), nil
		case f.Lines == nil:
			fmt.Fprintf(&out, "\n- %s (cannot be loaded: %s)", f.Path, f.unreadable())
		default:
			fmt.Fprintf(&out, "\n- %s (%d bytes)", f.Path, f.Size)
		}
		listed++
	}
	return out.String(), nil
}

// codeTools are names of tools that run code, in lower case with underscores.
var codeTools = strings.Fields("bash sh shell zsh cmd powershell pwsh terminal exec execute run_code python repl code code_execution " +
	"code_interpreter computer computer_use")

// scriptFolder is where skills keep programs, and scriptTypes are how their names end.
const scriptFolder = "scripts/"

var scriptTypes = strings.Fields(".bash .bat .cjs .cmd .exe .go .jar .js .lua .mjs .php .pl .ps1 .py .r .rb .sh .ts .wasm .zsh")

// needsCode says why a skill cannot be used without running code; empty = it can.
func needsCode(k skill) string {
	for _, t := range k.Tools {
		name, _, _ := strings.Cut(t, "(")
		if slices.Contains(codeTools, strings.ReplaceAll(strings.ToLower(name), "-", "_")) {
			return "allowed-tools has " + name
		}
	}
	for _, f := range k.Files {
		if f.Script {
			return f.Path + " is a program"
		}
	}
	return ""
}

// isScript reports whether a file is made to be run: it says so in its first bytes, or it is among the scripts.
func (f file) isScript() bool {
	return f.program ||
		strings.HasPrefix(f.Path, scriptFolder) && (f.executable || slices.Contains(scriptTypes, strings.ToLower(path.Ext(f.Path))))
}

// isProgram reports whether a file begins as scripts and compiled programs do.
func isProgram(head []byte) bool {
	for _, magic := range []string{"#!", "\x7fELF", "MZ\x90", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe", "\x00asm"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	return false
}
