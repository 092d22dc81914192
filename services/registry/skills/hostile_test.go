package skills_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/registry/skills"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// good is a skill that the hostile things are beside.
func good() tarEntry { return text("good/SKILL.md", front("good", "Does good.", "")) }

func special(name string, kind byte, link string) tarEntry {
	return tarEntry{tar.Header{Name: name, Typeflag: kind, Linkname: link}, ""}
}

// check reads a source in bounded memory. If refused is set, the source is invalid for that reason; otherwise "good" is there, and only it,
// with a warning.
func check(t *testing.T, s store.Source, refused, warning string, dirs ...string) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	inv, err := open(nil, dirs...).Discover(t.Context(), s, source.User{})
	runtime.ReadMemStats(&after)
	if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 128 {
		t.Errorf("allocated %d MiB", mib)
	}
	if refused != "" {
		if err == nil || !strings.Contains(err.Error(), refused) || fault.From(err).Details[source.DetailState] != store.Invalid ||
			len(err.Error()) > 600 {
			t.Errorf("got %v, %d tools; want %q", err, len(inv.Tools), refused)
		}
		return
	}
	got := strings.Join(inv.Warnings, "|")
	if err != nil || len(inv.Tools) != 1 || inv.Tools[0].OriginalName != "good" {
		t.Fatalf("got %v, %d tools, warnings %s", err, len(inv.Tools), got)
	}
	if !strings.Contains(got, warning) || warning == "" && got != "" || len(got) > 600 {
		t.Errorf("warnings %s, want %q", got, warning)
	}
}

// TestHostileArchives: an archive is refused as a whole, or the skill around what is wrong is left out.
func TestHostileArchives(t *testing.T) {
	many := func(n int, name func(i int) tarEntry) []tarEntry {
		all := []tarEntry{good()}
		for i := range n {
			all = append(all, name(i))
		}
		return all
	}
	zeros := strings.Repeat("\x00", 24<<20)
	for _, row := range []struct {
		name, refused, warning string
		entries                []tarEntry
	}{
		{name: "nothing but a good one", entries: []tarEntry{good()}},
		{name: "no skill", refused: "no folder with a SKILL.md", entries: []tarEntry{text("a/README.md", "x")}},
		{name: "a path out of it", refused: `"../evil/SKILL.md" of the archive is refused: its path leaves`, entries: []tarEntry{
			good(), text("../evil/SKILL.md", "x"),
		}},
		{name: "a path out of it, later", refused: "leaves the folder", entries: []tarEntry{good(), text("good/../../evil", "x")}},
		{name: "an absolute path", refused: "leaves the folder", entries: []tarEntry{good(), text("/etc/cron.d/x", "x")}},
		{name: "a path of Windows", refused: "must not have", entries: []tarEntry{good(), text(`good\..\..\x`, "x")}},
		{name: "a path with a line feed", refused: "must not have", entries: []tarEntry{good(), text("good/a\nb", "x")}},
		{name: "a path with a hidden character", refused: "must not have", entries: []tarEntry{good(), text("good/a\u202eb", "x")}},
		{name: "a path that is no UTF-8", refused: "not UTF-8", entries: []tarEntry{good(), text("good/\xff", "x")}},
		{name: "a long path", refused: "longer than 255", entries: []tarEntry{good(), text("good/"+strings.Repeat("n", 300), "x")}},
		{name: "deep folders", refused: "folders deep", entries: []tarEntry{good(), text(strings.Repeat("d/", 20)+"SKILL.md", "x")}},
		{name: "a file twice", refused: "is there twice", entries: []tarEntry{good(), good()}},
		{name: "10,000 files", refused: "more than 4096 files", entries: many(10_000, func(i int) tarEntry {
			return text(fmt.Sprint("f", i), "")
		})},
		{name: "501 skills", refused: "more than 500 skills", entries: many(500, func(i int) tarEntry {
			return text(fmt.Sprintf("s%d/SKILL.md", i), front(fmt.Sprint("s", i), "x", ""))
		})},
		{name: "a bomb", refused: "more than 67108864 bytes", entries: []tarEntry{good(), text("a", zeros), text("b", zeros), text("c", zeros)}},
		{name: "a hidden bomb", refused: "bytes in the archive", entries: []tarEntry{
			good(), text(".a", zeros), text(".b", zeros), text(".c", zeros), text(".d", zeros),
		}},
		{name: "a link out of it", warning: `"bad/passwd": it is a symbolic link`, entries: []tarEntry{
			good(), text("bad/SKILL.md", front("bad", "x", "")), special("bad/passwd", tar.TypeSymlink, "/etc/passwd"),
		}},
		{name: "SKILL.md is a link", warning: "it is a symbolic link", entries: []tarEntry{
			good(), special("bad/SKILL.md", tar.TypeSymlink, "/etc/passwd"),
		}},
		{name: "a hard link", warning: "it is a link", entries: []tarEntry{
			good(), text("bad/SKILL.md", front("bad", "x", "")), special("bad/x", tar.TypeLink, "good/SKILL.md"),
		}},
		{name: "a device", warning: "it is no regular file", entries: []tarEntry{
			good(), text("bad/SKILL.md", front("bad", "x", "")), special("bad/x", tar.TypeChar, ""),
		}},
		{name: "600 files of a skill", warning: "more than 512 files", entries: append(many(600, func(i int) tarEntry {
			return text(fmt.Sprint("bad/f", i), "")
		}), text("bad/SKILL.md", front("bad", "x", "")))},
		{name: "a skill with much text", warning: "more than 1048576 bytes", entries: append(many(9, func(i int) tarEntry {
			return text(fmt.Sprint("bad/f", i), strings.Repeat("x", 200_000))
		}), text("bad/SKILL.md", front("bad", "x", "")))},
		{name: "a skill with many lines", warning: "or 40000 lines", entries: []tarEntry{
			good(), text("bad/SKILL.md", front("bad", "x", "")), text("bad/x", strings.Repeat("\n", 50_000)),
		}},
		{name: "much text in all", refused: "more than 16777216 bytes of text", entries: many(90, func(i int) tarEntry {
			return text(fmt.Sprintf("s%d/SKILL.md", i), front(fmt.Sprint("s", i), "x", "")+strings.Repeat("x", 200_000))
		})},
		{name: "two of a name", refused: `no skill can be used: the skill "good" was left out: it is in several folders, "again", "good"`, entries: []tarEntry{
			good(), text("again/SKILL.md", front("good", "Does bad.", "")),
		}},
		{name: "a skill within a skill", entries: []tarEntry{good(), text("good/inner/SKILL.md", front("inner", "x", ""))}},
	} {
		t.Run(row.name, func(t *testing.T) {
			check(t, uploaded(gzipped(t, tarred(t, row.entries...))), row.refused, row.warning)
		})
	}
}

// TestHostileFiles is about archives that are none, and zip files.
func TestHostileFiles(t *testing.T) {
	whole := zipped(t, map[string]string{"good/SKILL.md": front("good", "Does good.", "")})
	lying := bytes.Clone(whole) // the directory says another size
	at := bytes.Index(lying, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(lying[at+24:], 1<<30)
	encrypted := bytes.Clone(whole)
	encrypted[at+8] |= 1
	link := func() []byte {
		var out bytes.Buffer
		z := zip.NewWriter(&out)
		h := &zip.FileHeader{Name: "good/x"}
		h.SetMode(os.ModeSymlink | 0o777)
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write([]byte("/etc/passwd"))
		}
		if err != nil || z.Close() != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	for name, row := range map[string]struct {
		data    []byte
		refused string
	}{
		"no archive":          {[]byte("hello"), "neither a zip file nor a tar file"},
		"HTML":                {[]byte("<html>" + strings.Repeat(" ", 1000)), "neither a zip file nor a tar file"},
		"an empty zip":        {zipped(t, nil), "no folder with a SKILL.md"},
		"a zip cut short":     {whole[:len(whole)/2], "cannot be read"},
		"a gzip cut short":    {gzipped(t, tarred(t, good()))[:40], "cannot be read"},
		"a gzip of no tar":    {gzipped(t, []byte(strings.Repeat("x", 2000))), "cannot be read"},
		"a size that is none": {lying, "cannot be read"},
		"an encrypted file":   {encrypted, "no folder with a SKILL.md"},
		"a link in a zip":     {link(), "no folder with a SKILL.md"},
		"a path out of a zip": {zipped(t, map[string]string{"../x": "x"}), "leaves the folder"},
		"a path of Windows":   {zipped(t, map[string]string{`..\x`: "x"}), "refused"},
		"a bomb":              {zipped(t, map[string]string{"a/SKILL.md": strings.Repeat("\x00", 70<<20)}), "more than 67108864 bytes"},
	} {
		t.Run(name, func(t *testing.T) { check(t, uploaded(row.data), row.refused, "") })
	}
}

// TestHostileFrontMatter: a skill whose SKILL.md is wrong is left out, with the reason.
func TestHostileFrontMatter(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for i := range 8 {
		bomb += fmt.Sprintf("%c: &%c [%s*%c]\n", 'b'+i, 'b'+i, strings.Repeat(fmt.Sprintf("*%c,", 'a'+i), 8), 'a'+i)
	}
	for name, row := range map[string]struct{ content, warning string }{
		"empty":                      {"", "does not begin with front matter"},
		"no front matter":            {"# Hello", "does not begin with front matter"},
		"no end":                     {"---\nname: bad\n", "does not end"},
		"nothing in it":              {"---\n---\nbody", "has no fields"},
		"a list":                     {"---\n- name\n---\n", "has no fields"},
		"no YAML":                    {"---\nname: [\n---\n", "is no YAML"},
		"aliases of aliases":         {"---\n" + bomb + "---\n", "anchors or aliases"},
		"one alias":                  {front("bad", "&d x", "license: *d\n"), "anchors or aliases"},
		"deep":                       {front("bad", "x", "metadata: "+strings.Repeat("[", 7000)+strings.Repeat("]", 7000)+"\n"), "values"},
		"many fields":                {front("bad", "x", "metadata:\n"+strings.Repeat("  - a\n", 1500)), "more than 1000 values"},
		"large":                      {front("bad", "x", "more: "+strings.Repeat("x", 20_000)+"\n"), "larger than 16384 bytes"},
		"not UTF-8":                  {front("bad", "\xff", ""), "it is binary"},
		"NUL":                        {front("bad", "x\x00", ""), "it is binary"},
		"too large":                  {front("bad", "x", "") + strings.Repeat("x", 300_000), "the limit is 262144"},
		"no name":                    {"---\ndescription: x\n---\n", "its name"},
		"a name of another tool":     {front("good__bad", "x", ""), "is not valid"},
		"a name with capitals":       {front("Bad", "x", ""), "is not valid"},
		"a path as name":             {front("../bad", "x", ""), "is not valid"},
		"two hyphens":                {front("bad--name", "x", ""), "is not valid"},
		"a long name":                {front(strings.Repeat("n", 65), "x", ""), "is not valid"},
		"a name that is a map":       {"---\nname: {a: b}\ndescription: x\n---\n", "is no text"},
		"no description":             {front("bad", "", ""), "has no description"},
		"a description of blanks":    {front("bad", "'  '", ""), "has no description"},
		"a long description":         {front("bad", strings.Repeat("d", 1025), ""), "longer than 1024"},
		"a long compatibility":       {front("bad", "x", "compatibility: "+strings.Repeat("c", 501)+"\n"), "longer than 500"},
		"a field twice":              {front("bad", "x", "name: good\n"), "twice"},
		"metadata that is a text":    {front("bad", "x", "metadata: x\n"), "is no map"},
		"tools that are a map":       {front("bad", "x", "allowed-tools: {a: b}\n"), "neither a text nor a list"},
		"a tool that is a list":      {front("bad", "x", "allowed-tools: [[a]]\n"), "no text"},
		"too many tools":             {front("bad", "x", "allowed-tools: "+strings.Repeat("a ", 101)+"\n"), "more than 100"},
		"a merge key":                {front("bad", "x", "<<: {name: good}\nmetadata: 7\n"), "is no map"},
		"a key that is a list":       {"---\n? [a]\n: b\nname: bad\n---\n", "no text"},
		"several documents in front": {"---\nname: bad\n--- \ndescription: x\n---\n", "left out"},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, uploaded(tarred(t, good(), text("bad/SKILL.md", row.content))), "", row.warning)
		})
	}
}

// TestHostileFolders has what only a folder can have.
func TestHostileFolders(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		prepare          func(dir string) error
		refused, warning string
	}{
		"a link to a file": {func(dir string) error { return os.Symlink(secret, filepath.Join(dir, "bad", "x")) }, "", "it is a symbolic link"},
		"a link to a folder": {
			func(dir string) error { return os.Symlink(filepath.Dir(secret), filepath.Join(dir, "bad", "x")) }, "", "it is a symbolic link",
		},
		"a skill that is a link": {
			func(dir string) error { return os.Symlink(filepath.Join(dir, "good"), filepath.Join(dir, "other")) }, "", `"other" was left out`,
		},
		"a circle": {func(dir string) error { return os.Symlink(dir, filepath.Join(dir, "bad", "x")) }, "", "it is a symbolic link"},
		"a pipe that no program writes": {
			func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "bad", "x"), 0o600) }, "", "it is no regular file",
		},
		"a name that is no UTF-8": {
			func(dir string) error { return os.WriteFile(filepath.Join(dir, "bad", "\xff"), nil, 0o600) }, "", "not UTF-8",
		},
		"deep folders": {
			func(dir string) error { return os.MkdirAll(filepath.Join(dir, "bad", strings.Repeat("d/", 30)), 0o700) }, "", "folders deep",
		},
		"5,000 files": {func(dir string) error {
			for i := range 5000 {
				if err := os.WriteFile(filepath.Join(dir, "bad", fmt.Sprint(i)), nil, 0o600); err != nil {
					return err
				}
			}
			return nil
		}, "more than 4096 files", ""},
		"a file of 1 TiB": {func(dir string) error {
			f, err := os.Create(filepath.Join(dir, "bad", "x"))
			if err != nil {
				return err
			}
			defer f.Close()
			return f.Truncate(1 << 40) // it has no blocks
		}, "more than 67108864 bytes", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{"good/SKILL.md": front("good", "Does good.", ""), "bad/SKILL.md": front("bad", "x", "")})
			if err := row.prepare(dir); err != nil {
				t.Skip(err) // this system has no such files
			}
			if name == "a skill that is a link" {
				if err := os.RemoveAll(filepath.Join(dir, "bad")); err != nil {
					t.Fatal(err)
				}
			}
			check(t, inFolder(dir), row.refused, row.warning, dir)
		})
	}
}

// TestAReadIsCancelled: a source is not read to the end when nobody waits for it.
func TestAReadIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, s := range []store.Source{uploaded(tarred(t, good())), inFolder("/")} {
		if _, err := skills.Open(&source.Env{}, []string{"/"}).Discover(ctx, s, source.User{}); err == nil {
			t.Error("it was read")
		}
	}
}
