package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// list holds the faults: blocks separated by empty lines. The first line of a
// block is the fault's name, the second the file; then lines with `-` are
// replaced by those with `+`. A line that begins with # is a comment.
//
//go:embed faults.txt
var list string

// fault is one change of one file that some test has to notice.
type fault struct {
	name string
	file string // below the root of the module
	old  string // stands in the file exactly once
	new  string
}

func parse(list string) ([]fault, error) {
	var faults []fault
	for block := range strings.SplitSeq(strings.TrimSpace(list), "\n\n") {
		var f fault
		for line := range strings.SplitSeq(block, "\n") {
			switch {
			case strings.HasPrefix(line, "#"):
			case strings.HasPrefix(line, "-"):
				f.old += line[1:] + "\n"
			case strings.HasPrefix(line, "+"):
				f.new += line[1:] + "\n"
			case f.name == "":
				f.name = line
			case f.file == "":
				f.file = line
			default:
				return nil, fmt.Errorf("%s: what is %q?", f.name, line)
			}
		}
		if f == (fault{}) { // comments only
			continue
		}
		if f.file == "" || f.old == "" {
			return nil, fmt.Errorf("a fault needs a name, a file and a line to replace: %q", block)
		}
		faults = append(faults, f)
	}
	return faults, nil
}

// apply returns the file with the fault in it.
func (f fault) apply(root string) (string, error) {
	b, err := os.ReadFile(filepath.Join(root, f.file))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(b), f.old); n != 1 {
		return "", fmt.Errorf("what is to be replaced stands %d times in %s:\n%s", n, f.file, f.old)
	}
	return strings.Replace(string(b), f.old, f.new, 1), nil
}
