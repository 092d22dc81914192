package blueprint

import (
	"path"
	"regexp"
	"strings"
)

var (
	// interpreter is the name of a program that takes another program's text as an argument; a version may follow it.
	interpreter = regexp.MustCompile(`^(sh|bash|dash|ash|zsh|ksh|mksh|fish|python|pypy|node|nodejs|deno|bun|ruby|perl|php|lua)[0-9.]*$`)
	// textOption is an option that the text follows: -c, -e and the like, perhaps together with others as in -lc. joinedText has the
	// text in it.
	textOption = regexp.MustCompile(`^(-[A-Za-z]*[ceEpr]|--eval|--print|eval)$`)
	joinedText = regexp.MustCompile(`^(-[ceEpr].|--eval=|--print=)`)
)

// isScript reports whether an argument of a command is the text of a program, as in ["sh", "-c", "…"]. It goes by the name of the
// program that reads it; of a program that is not known it cannot tell.
func isScript(command []string, at int) bool {
	return at > 0 && joinedText.MatchString(command[at]) && optionOfInterpreter(command, at) ||
		at > 1 && textOption.MatchString(command[at-1]) && optionOfInterpreter(command, at-1)
}

// optionOfInterpreter reports whether nothing but options stands between an argument and the interpreter's name: behind a file's
// name, options are the file's own.
func optionOfInterpreter(command []string, at int) bool {
	for i := at - 1; i >= 0; i-- {
		if interpreter.MatchString(path.Base(command[i])) {
			return true
		}
		if valueOfOption := i > 0 && command[i-1] == "-o"; !strings.HasPrefix(command[i], "-") && !valueOfOption {
			return false
		}
	}
	return false
}
