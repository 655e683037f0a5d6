package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// fault is one change of one file that some test has to notice.
type fault struct {
	pkg    string // the package's directory, below the root of the module
	name   string
	caught string // "package.Test" that noticed it when it was planted last, or "package.Fuzz" with its seeds; "" is none
	old    string // lines that stand in the package's files, tests aside, exactly once
	new    string
}

// caughtBy begins the line of a block that tells which test noticed the fault.
const caughtBy = "caught by "

// parseFault reads a block: the fault's name, a line "caught by package.Test" where that is known, then lines with `-`, which
// are replaced by those with `+`. A line that begins with # is a comment; a block of nothing else is no fault.
func parseFault(pkg, block string) (f fault, ok bool, err error) {
	f.pkg = pkg
	for line := range strings.SplitSeq(block, "\n") {
		test, caught := strings.CutPrefix(line, caughtBy)
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "-"):
			f.old += line[1:] + "\n"
		case strings.HasPrefix(line, "+"):
			f.new += line[1:] + "\n"
		case f.name == "":
			f.name = line
		case caught && f.caught == "" && f.old+f.new == "" && (strings.Contains(test, ".Test") || strings.Contains(test, ".Fuzz")):
			f.caught = test
		default:
			return f, false, fmt.Errorf("%s: %s: what is %q?", pkg, f.name, line)
		}
	}
	if f == (fault{pkg: pkg}) {
		return f, false, nil
	}
	if f.name == "" || f.old == "" {
		return f, false, fmt.Errorf("%s: a fault needs a name and a line to replace: %q", pkg, block)
	}
	return f, true, nil
}

// apply returns the file that the fault is in, below root, and its text with the fault.
func (f fault) apply(root string) (file, changed string, err error) {
	files, err := filepath.Glob(filepath.Join(root, f.pkg, "*.go"))
	if err != nil {
		return "", "", err
	}
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return "", "", err
		}
		if n := strings.Count(string(b), f.old); n > 0 {
			found += n
			file, changed = name, strings.Replace(string(b), f.old, f.new, 1)
		}
	}
	if found != 1 {
		return "", "", fmt.Errorf("what is to be replaced stands %d times in %s:\n%s", found, f.pkg, f.old)
	}
	return file, changed, nil
}
