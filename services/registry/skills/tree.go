package skills

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of one source.
const (
	// maxEntries counts files and folders, also those that belong to no skill.
	maxEntries = 4096
	// maxBytes limits all files together.
	maxBytes = 64 << 20
	// maxSkills and maxSourceText limit what becomes tools.
	maxSkills     = 500
	maxSourceText = 16 << 20
	// maxPath is in bytes, and maxDepth counts folders.
	maxPath  = 255
	maxDepth = 12
)

// Limits of one skill. A file that is larger than maxText is listed, and cannot be loaded.
const (
	maxFiles     = 512
	maxText      = 256 << 10
	maxSkillText = 1 << 20
	maxLines     = 40_000
)

// tree is what was found in a folder or an archive.
type tree struct {
	files map[string]file
	// odd has what cannot be a part of a skill, by path: the skill around it is left out.
	odd     map[string]string
	entries int
	left    int64 // bytes that may still be read
}

func newTree() *tree {
	return &tree{files: map[string]file{}, odd: map[string]string{}, left: maxBytes}
}

// enter counts an entry.
func (t *tree) enter() error {
	if t.entries++; t.entries > maxEntries {
		return wrong("there are more than %d files and folders", maxEntries)
	}
	return nil
}

// hidden reports whether a path is left out: it has an element that begins with a dot, such as .git, or what macOS adds to archives.
func hidden(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
		return strings.HasPrefix(part, ".") || part == "__MACOSX"
	})
}

// wrongPath says what is wrong with a path; empty if nothing is.
func wrongPath(name string) string {
	switch {
	case !utf8.ValidString(name):
		return "its name is not UTF-8"
	case len(name) > maxPath:
		return fmt.Sprintf("its path is longer than %d bytes", maxPath)
	case strings.Count(name, "/") > maxDepth:
		return fmt.Sprintf("it is more than %d folders deep", maxDepth)
	case !fs.ValidPath(name):
		return "its path leaves the folder"
	case strings.ContainsFunc(name, func(r rune) bool { return r == '\\' || !unicode.IsPrint(r) }):
		return "its name has characters that names of files must not have"
	}
	return ""
}

// add reads a file.
func (t *tree) add(name string, executable bool, r io.Reader) error {
	if _, twice := t.files[name]; twice {
		return wrong("%q is there twice", name)
	}
	h := sha256.New()
	limited := io.TeeReader(io.LimitReader(r, t.left+1), h)
	head, err := io.ReadAll(io.LimitReader(limited, maxText+1))
	if err != nil {
		return fmt.Errorf("read %q: %w", name, err)
	}
	rest, err := io.Copy(io.Discard, limited)
	if err != nil {
		return fmt.Errorf("read %q: %w", name, err)
	}
	f := file{Path: name, Size: int64(len(head)) + rest, executable: executable, program: isProgram(head)}
	if t.left -= f.Size; t.left < 0 {
		return wrong("there are more than %d bytes in files", maxBytes)
	}
	f.Sum = hex.EncodeToString(h.Sum(nil))
	if f.Size <= maxText && isText(head) {
		f.Lines = []string{string(head)} // split when it is clear that there are not too many lines
	}
	t.files[name] = f
	return nil
}

// isText reports whether a model can read the bytes: UTF-8 without control characters.
func isText(data []byte) bool {
	return utf8.Valid(data) && !bytes.ContainsFunc(data, func(r rune) bool {
		return unicode.Is(unicode.Cc, r) && r != '\n' && r != '\r' && r != '\t' && r != '\f'
	})
}

// skills returns the skills of the tree by name, and what was left out.
func (t *tree) skills() (found []skill, warnings []string, err error) {
	roots := t.roots()
	if len(roots) == 0 {
		return nil, nil, wrong("there is no folder with a %s", mainFile)
	}
	if len(roots) > maxSkills {
		return nil, nil, wrong("there are more than %d skills", maxSkills)
	}
	files, odd := map[string][]file{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(t.odd)) {
		root, ok := rootOf(roots, name)
		if ok && odd[root] == "" {
			odd[root] = fmt.Sprintf("%q: %s", name, t.odd[name])
		} else if !ok {
			warnings = append(warnings, fmt.Sprintf("%q was left out: %s", name, t.odd[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.files)) {
		if root, ok := rootOf(roots, name); ok {
			files[root] = append(files[root], t.files[name])
		}
	}
	where, text := map[string][]string{}, 0
	for _, root := range slices.Sorted(maps.Keys(roots)) {
		k, size, err := build(root, files[root], odd[root])
		if err != nil {
			warnings = append(warnings, fmt.Sprintf("the skill in %q was left out: %s", root, err))
			continue
		}
		if text += size; text > maxSourceText {
			return nil, nil, wrong("the skills have more than %d bytes of text", maxSourceText)
		}
		if folder := path.Base(root); root != "." && folder != k.Name {
			warnings = append(warnings, fmt.Sprintf("the skill %q is in a folder of another name, %q", k.Name, root))
		}
		if k.NeedsCode != "" {
			warnings = append(warnings, fmt.Sprintf("the skill %q needs code, so it cannot be loaded: %s", k.Name, k.NeedsCode))
		}
		found, where[k.Name] = append(found, k), append(where[k.Name], fmt.Sprintf("%q", root))
	}
	for _, name := range slices.Sorted(maps.Keys(where)) {
		if folders := where[name]; len(folders) > 1 {
			warnings = append(warnings, fmt.Sprintf("the skill %q was left out: it is in several folders, %s", name, strings.Join(folders, ", ")))
		}
	}
	found = slices.DeleteFunc(found, func(k skill) bool { return len(where[k.Name]) > 1 })
	if len(found) == 0 {
		return nil, nil, wrong("no skill can be used: %s", warnings[len(warnings)-1])
	}
	slices.SortFunc(found, func(a, b skill) int { return strings.Compare(a.Name, b.Name) })
	return found, warnings, nil
}

// roots returns the folders of skills. A skill within another one is a part of that.
func (t *tree) roots() map[string]bool {
	all, top := map[string]bool{}, map[string]bool{}
	for name := range t.files {
		if path.Base(name) == mainFile {
			all[path.Dir(name)] = true
		}
	}
	for root := range all {
		if _, within := rootOf(all, root); root == "." || !within {
			top[root] = true
		}
	}
	return top
}

// rootOf returns the root that is nearest to a path, above it.
func rootOf(roots map[string]bool, name string) (string, bool) {
	for name != "." {
		if name = path.Dir(name); roots[name] {
			return name, true
		}
	}
	return "", false
}

// build makes a skill of the files of a folder, and returns the size of its text. Odd is what cannot be a part of it; empty = nothing.
func build(root string, files []file, odd string) (k skill, size int, err error) {
	if odd != "" {
		return k, 0, wrongError(odd)
	}
	if len(files) > maxFiles {
		return k, 0, wrong("it has more than %d files", maxFiles)
	}
	own, lines := make([]file, 0, len(files)), 0
	for _, f := range files {
		if root != "." {
			f.Path = strings.TrimPrefix(f.Path, root+"/")
		}
		f.Script = f.isScript()
		if len(f.Lines) > 0 {
			size, lines = size+len(f.Lines[0]), lines+strings.Count(f.Lines[0], "\n")+1
			if size > maxSkillText || lines > maxLines {
				return k, 0, wrong("its text has more than %d bytes or %d lines", maxSkillText, maxLines)
			}
		}
		own = append(own, f)
	}
	at := slices.IndexFunc(own, func(f file) bool { return f.Path == mainFile })
	if own[at].Lines == nil {
		return k, 0, wrong("%s cannot be read: %s", mainFile, own[at].unreadable())
	}
	if k, err = parse(own[at].text()); err != nil {
		return k, 0, err
	}
	for i := range own {
		if own[i].Lines != nil {
			own[i].Lines = strings.Split(own[i].text(), "\n")
		}
	}
	k.Files = own
	k.NeedsCode = needsCode(k)
	return k, size, nil
}
