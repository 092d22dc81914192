package skills_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/registry/skills"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// definitions are those of the last sync, by the hash that a test gives them.
type definitions map[string][]byte

func (d definitions) Definitions(_ context.Context, _ string, hashes []string) ([]store.Definition, error) {
	if raw, ok := d[hashes[0]]; ok {
		return []store.Definition{{Hash: hashes[0], Raw: raw}}, nil
	}
	return nil, nil
}

// open returns a driver whose sources may name folders below dirs.
func open(stored definitions, dirs ...string) source.Driver {
	return skills.Open(&source.Env{Limits: source.Limits{DiscoverTimeout: time.Minute}, Definitions: stored}, dirs)
}

// write writes files below a folder, and makes those in scripts executable.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// front is a SKILL.md.
func front(name, description, more string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n" + more + "---\n# " + name + "\n\nDo it well.\n"
}

// zipped returns a zip file.
func zipped(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for name, text := range files {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// tarred returns a tar file of the headers, whose sizes are those of their texts.
func tarred(t *testing.T, entries ...tarEntry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := e.Header
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		h.Size = int64(len(e.text))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

type tarEntry struct {
	tar.Header
	text string
}

func text(name, content string) tarEntry {
	return tarEntry{tar.Header{Name: name, Typeflag: tar.TypeReg}, content}
}

func gzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// uploaded is a source with an archive.
func uploaded(data []byte) store.Source {
	return store.Source{Name: "handbook", Kind: skills.Name, Document: base64.StdEncoding.EncodeToString(data)}
}

// inFolder is a source with a folder.
func inFolder(dir string) store.Source {
	return store.Source{Name: "handbook", Kind: skills.Name, Spec: store.Spec{Dir: dir}}
}

// twoSkills are the files of a tree with two skills, and files around them.
func twoSkills() map[string]string {
	return map[string]string{
		"README.md":                "not a skill",
		".git/config":              "[core]",
		"notes/SKILL.md":           front("notes", "Writes release notes.", "license: MIT\nmetadata:\n  author: us\nallowed-tools: Read Grep\n"),
		"notes/references/tone.md": "Be short.\n",
		"notes/assets/logo.png":    "\x89PNG\r\n\x1a\n\x00",
		"notes/.DS_Store":          "x",
		"deep/er/forms/SKILL.md":   front("forms", "Fills forms.", "allowed-tools: [Read, 'Bash(pdftk:*)']\n"),
	}
}

// TestSkillsBecomeTools covers the three forms of a source, which give the same tools.
func TestSkillsBecomeTools(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, twoSkills())
	var entries []tarEntry
	for name, content := range twoSkills() {
		entries = append(entries, text("./"+name, content))
	}
	var raw string
	for name, s := range map[string]store.Source{
		"folder": inFolder(dir), "zip": uploaded(zipped(t, twoSkills())), "tar": uploaded(tarred(t, entries...)),
		"tar.gz": uploaded(gzipped(t, tarred(t, entries...))),
	} {
		t.Run(name, func(t *testing.T) {
			inv, err := open(nil, filepath.Dir(dir)).Discover(t.Context(), s, source.User{})
			if err != nil || len(inv.Tools) != 2 {
				t.Fatalf("found %+v, %v", inv.Tools, err)
			}
			forms, notes := inv.Tools[0], inv.Tools[1]
			if notes.OriginalName != "notes" || !strings.HasPrefix(notes.Description, "Writes release notes.") || notes.Effect != store.Read ||
				!slices.Equal(notes.Tags, []string{"skill"}) {
				t.Errorf("notes is %+v", notes)
			}
			if forms.OriginalName != "forms" || !strings.HasPrefix(forms.Description, "Needs code") || !slices.Contains(forms.Tags, "needs-code") {
				t.Errorf("forms is %+v", forms)
			}
			if got := strings.Join(inv.Warnings, "|"); got != `the skill "forms" needs code, so it cannot be loaded: allowed-tools has Bash` {
				t.Errorf("warnings: %s", got)
			}
			if strings.Contains(string(notes.Raw), "DS_Store") || !strings.Contains(string(notes.Raw), `"Be short."`) {
				t.Errorf("definition: %s", notes.Raw)
			}
			if raw == "" {
				raw = string(notes.Raw)
			}
			if string(notes.Raw) != raw {
				t.Errorf("another definition than in another form: %s", notes.Raw)
			}
			s.Digest = inv.Digest
			if again, err := open(nil, dir).Discover(t.Context(), s, source.User{}); err != nil || !again.Unchanged {
				t.Errorf("again: %+v, %v", again, err)
			}
		})
	}
}

// TestEveryFileIsInTheDefinition changes one file after the other.
func TestEveryFileIsInTheDefinition(t *testing.T) {
	notes := func(files map[string]string) string {
		t.Helper()
		inv, err := open(nil).Discover(t.Context(), uploaded(zipped(t, files)), source.User{})
		if err != nil {
			t.Fatal(err)
		}
		return string(inv.Tools[1].Raw)
	}
	before := notes(twoSkills())
	for _, name := range []string{"notes/SKILL.md", "notes/references/tone.md", "notes/assets/logo.png", "notes/new.txt"} {
		files := twoSkills()
		files[name] += "\nmore"
		if notes(files) == before {
			t.Errorf("a change of %s is none of the definition", name)
		}
	}
	files := twoSkills()
	files["README.md"], files["notes/.DS_Store"] = "other", "other"
	if notes(files) != before {
		t.Error("a file that is none of the skill changes it")
	}
}

// TestLoad calls tools.
func TestLoad(t *testing.T) {
	files := twoSkills()
	files["notes/big.txt"] = strings.Repeat("line\n", 60_000)
	found, err := open(nil).Discover(t.Context(), uploaded(zipped(t, files)), source.User{})
	if err != nil {
		t.Fatal(err)
	}
	d := open(definitions{"forms": found.Tools[0].Raw, "notes": found.Tools[1].Raw})
	for _, row := range []struct {
		name, skill, file string
		isError           bool
		want              []string
		not               string
	}{
		{"the instructions", "notes", "", false, []string{
			"# notes\n\nDo it well.", "License: MIT", "- references/tone.md (10 bytes)",
			"- assets/logo.png (cannot be loaded: it is binary, 9 bytes)",
			"- big.txt (cannot be loaded: it has 300000 bytes, and the limit is 262144)",
		}, "description:"},
		{"a file", "notes", "references/tone.md", false, []string{"Be short.\n"}, "notes"},
		{"a path that can be shorter", "notes", "./references/../references/tone.md", false, []string{"Be short.\n"}, ""},
		{"all of SKILL.md", "notes", "SKILL.md", false, []string{"description: Writes release notes."}, ""},
		{"a file that is not there", "notes", "secret.md", true, []string{`has no file "secret.md"`, "SKILL.md, assets/logo.png"}, ""},
		{"a path out of the skill", "notes", "../../../../etc/passwd", true, []string{"has no file"}, "root:"},
		{"an absolute path", "notes", "/etc/passwd", true, []string{"has no file"}, "root:"},
		{"a binary file", "notes", "assets/logo.png", true, []string{"it is binary"}, ""},
		{"a large file", "notes", "big.txt", true, []string{"the limit is 262144"}, ""},
		{"a skill that needs code", "forms", "", true, []string{"needs to run code (allowed-tools has Bash)"}, "Do it well"},
		{"a file of a skill that needs code", "forms", "SKILL.md", true, []string{"needs to run code"}, "Do it well"},
	} {
		t.Run(row.name, func(t *testing.T) {
			args := canon.Object{}
			if row.file != "" {
				args["file"] = row.file
			}
			reply, err := d.Call(t.Context(), &source.Request{Tool: row.skill, Definition: row.skill, Arguments: args}, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := reply.Result.GetContent()[0].GetText()
			for _, want := range row.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q is missing in %q", want, got)
				}
			}
			if reply.Result.GetIsError() != row.isError || row.not != "" && strings.Contains(got, row.not) {
				t.Errorf("error %v, text %q", reply.Result.GetIsError(), got)
			}
		})
	}
	_, err = d.Call(t.Context(), &source.Request{Definition: "unknown"}, nil)
	if failure, ok := errors.AsType[*source.Error](err); !ok || !failure.NothingSent() {
		t.Errorf("a definition that is not stored: %v", err)
	}
}

// TestWhatNeedsCode marks skills by what they say and have.
func TestWhatNeedsCode(t *testing.T) {
	for name, row := range map[string]struct{ more, file, content, want string }{
		"no tools":                {},
		"tools that run nothing":  {more: "allowed-tools: Read, Grep WebFetch\n"},
		"a shell":                 {more: "allowed-tools: Read Bash(git add:*)\n", want: "allowed-tools has Bash"},
		"a shell in a list":       {more: "allowed-tools:\n- Read\n- PowerShell\n", want: "allowed-tools has PowerShell"},
		"code execution":          {more: "allowed-tools: code-execution\n", want: "allowed-tools has code-execution"},
		"a script":                {file: "scripts/run.py", content: "print(1)", want: "scripts/run.py is a program"},
		"a text beside scripts":   {file: "scripts/README.md", content: "None yet."},
		"a first line":            {file: "tool", content: "#!/bin/sh\nrm -rf /\n", want: "tool is a program"},
		"a binary":                {file: "assets/x", content: "\x7fELF\x02", want: "assets/x is a program"},
		"an example in a folder":  {file: "references/example.py", content: "print(1)"},
		"scripts of another name": {file: "notscripts/run.py", content: "print(1)"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"a/SKILL.md": front("a", "Does a.", row.more)}
			if row.file != "" {
				files["a/"+row.file] = row.content
			}
			inv, err := open(nil).Discover(t.Context(), uploaded(zipped(t, files)), source.User{})
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(inv.Warnings, "|")
			if marked := slices.Contains(inv.Tools[0].Tags, "needs-code"); marked != (row.want != "") || !strings.HasSuffix(got, row.want) {
				t.Errorf("tags %v, warnings %s", inv.Tools[0].Tags, got)
			}
		})
	}
}

// TestFoldersThatSourcesMayName: none by default, and only those below the configured ones.
func TestFoldersThatSourcesMayName(t *testing.T) {
	top := t.TempDir()
	write(t, top, map[string]string{"ok/a/SKILL.md": front("a", "Does a.", ""), "okay/a/SKILL.md": front("a", "Does a.", "")})
	if err := os.Symlink(filepath.Join(top, "okay"), filepath.Join(top, "ok", "link")); err != nil {
		t.Skip("no symbolic links here")
	}
	allowed := filepath.Join(top, "ok")
	for name, row := range map[string]struct {
		dirs      []string
		dir, want string
		state     string
	}{
		"none may":             {nil, allowed, "registry.skills.dirs is empty", store.Invalid},
		"the folder itself":    {[]string{allowed}, allowed + "/", "", ""},
		"a folder below":       {[]string{"/nowhere", allowed}, filepath.Join(allowed, "a"), "", ""},
		"a similar name":       {[]string{allowed}, filepath.Join(top, "okay"), "is not below", store.Invalid},
		"above":                {[]string{allowed}, top, "is not below", store.Invalid},
		"dots":                 {[]string{allowed}, allowed + "/a/../../okay", "is not below", store.Invalid},
		"a link out of it":     {[]string{allowed}, filepath.Join(allowed, "link"), "cannot be read", ""},
		"not there":            {[]string{allowed}, filepath.Join(allowed, "none"), "no such file", ""},
		"a file":               {[]string{allowed}, filepath.Join(allowed, "a", "SKILL.md"), "cannot be read", ""},
		"allowed is not there": {[]string{"/nowhere"}, "/nowhere/x", "no such file", ""},
	} {
		t.Run(name, func(t *testing.T) {
			inv, err := open(nil, row.dirs...).Discover(t.Context(), inFolder(row.dir), source.User{})
			switch {
			case row.want == "":
				if err != nil || len(inv.Tools) != 1 {
					t.Errorf("got %+v, %v", inv, err)
				}
			case err == nil || !strings.Contains(err.Error(), row.want) || fault.From(err).Details[source.DetailState] != row.state:
				t.Errorf("got %v, state %q", err, fault.From(err).Details[source.DetailState])
			}
		})
	}
}

// TestValidate covers definitions of sources.
func TestValidate(t *testing.T) {
	for name, row := range map[string]struct {
		source store.Source
		want   string
	}{
		"an archive":       {uploaded([]byte("x")), ""},
		"a folder":         {inFolder("/srv/skills"), ""},
		"neither":          {store.Source{}, "source.dir"},
		"both":             {store.Source{Document: "eA==", Spec: store.Spec{Dir: "/srv"}}, "source.dir"},
		"a relative path":  {inFolder("srv"), "source.dir"},
		"a document":       {store.Source{Document: "openapi: 3.1.0"}, "source.document"},
		"a url":            {store.Source{Document: "eA==", Spec: store.Spec{URL: "http://a/"}}, "source.kind"},
		"a program":        {store.Source{Document: "eA==", Spec: store.Spec{Command: []string{"a"}}}, "source.kind"},
		"a kind of secret": {store.Source{Document: "eA==", Spec: store.Spec{Headers: map[string]string{"a": "b"}}}, "source.kind"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			skills.Kind{}.Validate(row.source, func(field, _ string) { got = append(got, field) })
			if strings.Join(got, ",") != row.want {
				t.Errorf("got %v, want %s", got, row.want)
			}
		})
	}
}
