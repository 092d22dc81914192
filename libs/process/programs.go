package process

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// ErrNotAllowed means that the operator's list does not allow a command.
var ErrNotAllowed = errors.New("is not among the programs that may be started here")

// Rest is the last word of an entry that allows any further arguments.
const Rest = "..."

// Programs is an operator's list of the programs that may be started. Each entry is a program, alone or followed by a pattern for each of
// its arguments:
//
//	calculator                           the program of that name, with any arguments
//	/opt/tools/*                         any program of a folder; /opt/tools/** of the folders below it too
//	npx -y @modelcontextprotocol/* ...   exactly these arguments, and any after them
//	*                                    any name, and any path
//
// Patterns are those of file names: * and ? do not match a slash. An empty list allows nothing. It is safe for concurrent use.
type Programs struct {
	entries []entry
	dirs    []string

	mu    sync.Mutex
	found map[string]string // where a name was found first: a program that appears in PATH later does not replace it
}

type entry struct {
	program string
	args    []string // patterns; nil allows any arguments
}

// NewPrograms reads a list. dirs are further directories of programs, see Look.
func NewPrograms(list, dirs []string) (*Programs, error) {
	p := &Programs{dirs: dirs, found: map[string]string{}}
	for _, text := range list {
		words := strings.Fields(text)
		if len(words) == 0 {
			return nil, errors.New("an entry is empty")
		}
		for _, w := range words {
			if _, err := path.Match(w, ""); err != nil {
				return nil, fmt.Errorf("%q: %w", text, err)
			}
		}
		e := entry{program: words[0]}
		if named(e.program) && !filepath.IsAbs(e.program) {
			return nil, fmt.Errorf("%q: want a name, or an absolute path", text)
		}
		if len(words) > 1 {
			e.args = words[1:]
		}
		p.entries = append(p.entries, e)
	}
	return p, nil
}

// named reports whether a program is given by its path.
func named(program string) bool {
	return strings.ContainsRune(program, '/') || strings.ContainsRune(program, filepath.Separator)
}

// Find returns the path of a command's program. dir is the working directory that the command will have; a relative path is relative to it.
// env is what the author of the command adds to its environment. The error is ErrNotAllowed, or says that the program does not exist.
func (p *Programs) Find(command []string, dir string, env map[string]string) (string, error) {
	if len(command) == 0 || command[0] == "" {
		return "", fmt.Errorf("an empty command %w", ErrNotAllowed)
	}
	for name := range env {
		if !p.allowsEnv(name) {
			return "", fmt.Errorf("%q with the variable %s, which can make it run other code, %w", command[0], name, ErrNotAllowed)
		}
	}
	program := command[0]
	if !named(program) {
		if !slices.ContainsFunc(p.entries, func(e entry) bool { return e.allowsName(program) && e.allowsArgs(command[1:]) }) {
			return p.byPath(command)
		}
		return p.locate(program)
	}
	full, err := absolute(program, dir)
	if err != nil {
		return "", err
	}
	if !p.allowsPath(full, command[1:]) {
		return "", refused(command)
	}
	return full, nil
}

// byPath finds a program given by name that only an entry with a path allows.
func (p *Programs) byPath(command []string) (string, error) {
	full, err := p.locate(command[0])
	if err != nil || !p.allowsPath(full, command[1:]) {
		return "", refused(command)
	}
	return full, nil
}

func refused(command []string) error {
	return fmt.Errorf("%q %w", strings.Join(command, " "), ErrNotAllowed)
}

// allowsPath reports whether an entry allows a program at an absolute path: by its path, or by the name under which it is found.
func (p *Programs) allowsPath(full string, args []string) bool {
	for _, e := range p.entries {
		if !e.allowsArgs(args) {
			continue
		}
		if e.program == "*" || named(e.program) && matchPath(e.program, full) {
			return true
		}
		if !named(e.program) && e.allowsName(filepath.Base(full)) {
			if at, err := p.locate(filepath.Base(full)); err == nil && at == full {
				return true
			}
		}
	}
	return false
}

// allowsName reports whether the entry allows a program given by its name.
func (e entry) allowsName(name string) bool {
	ok, err := path.Match(e.program, name)
	return ok && err == nil
}

func (e entry) allowsArgs(args []string) bool {
	patterns := e.args
	if patterns == nil {
		return true
	}
	if last := len(patterns) - 1; patterns[last] == Rest {
		if patterns = patterns[:last]; len(args) < len(patterns) {
			return false
		}
		args = args[:len(patterns)]
	}
	return slices.EqualFunc(patterns, args, func(pattern, arg string) bool {
		ok, err := path.Match(pattern, arg)
		return ok && err == nil
	})
}

// matchPath matches a clean path. A pattern that ends in /** matches everything below the folder.
func matchPath(pattern, full string) bool {
	folder, below := strings.CutSuffix(pattern, "/**")
	if !below {
		ok, err := path.Match(pattern, filepath.ToSlash(full))
		return ok && err == nil
	}
	for dir := path.Dir(filepath.ToSlash(full)); ; dir = path.Dir(dir) {
		if ok, err := path.Match(folder, dir); ok && err == nil {
			return true
		}
		if dir == path.Dir(dir) {
			return false
		}
	}
}

// absolute returns the clean absolute path of a program.
func absolute(program, dir string) (string, error) {
	if !filepath.IsAbs(program) {
		program = filepath.Join(dir, program)
	}
	full, err := filepath.Abs(program)
	if err != nil {
		return "", fmt.Errorf("program %q: %w", program, err)
	}
	return full, nil
}

// locate looks a name up, once.
func (p *Programs) locate(name string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at, ok := p.found[name]; ok {
		return at, nil
	}
	at, err := Look(name, p.dirs)
	if err != nil {
		return "", err
	}
	if at, err = filepath.Abs(at); err != nil {
		return "", fmt.Errorf("program %q: %w", name, err)
	}
	p.found[name] = at
	return at, nil
}

// allowsEnv reports whether the author of a command may set an environment variable. One that makes programs load code from a place of the
// author's choice needs a list that allows every program anyway.
func (p *Programs) allowsEnv(variable string) bool {
	all := slices.ContainsFunc(p.entries, func(e entry) bool { return e.program == "*" && e.args == nil })
	return all || !loadsCode(strings.ToUpper(variable))
}

func loadsCode(variable string) bool {
	for _, prefix := range []string{"LD_", "DYLD_", "NPM_CONFIG_", "UV_", "PIP_", "GIT_CONFIG", "BASH_FUNC_"} {
		if strings.HasPrefix(variable, prefix) {
			return true
		}
	}
	return slices.Contains([]string{
		"PATH", "HOME", "SHELL", "ENV", "BASH_ENV", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONUSERBASE", "NODE_OPTIONS", "NODE_PATH",
		"RUBYOPT", "RUBYLIB", "PERL5OPT", "PERL5LIB", "PERL5DB", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH",
		"GIT_SSH", "GIT_SSH_COMMAND", "GIT_EXEC_PATH", "GIT_PROXY_COMMAND", "GCONV_PATH", "OPENSSL_CONF", "XDG_CONFIG_HOME",
	}, variable)
}
