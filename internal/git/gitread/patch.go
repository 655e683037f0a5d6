package gitread

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// ParsePatch reads a patch that somebody has sent: the files in it, and what stands before them. What follows the last hunk, such as the version
// of git, belongs to no file. The work is linear in the length: what would take more is not read.
func ParsePatch(patch string) (d *Diff, before string, err error) {
	if costlyNames(patch) {
		return nil, "", errors.New("a patch cannot be read: its names of files have too many spaces")
	}
	parsed, before, err := gitdiff.Parse(strings.NewReader(patch))
	if err != nil {
		return nil, before, fmt.Errorf("a patch cannot be read: %w", err)
	}
	d = &Diff{}
	for _, p := range parsed {
		f := FileDiff{Old: p.OldName, New: p.NewName, OldMode: octal(p.OldMode), NewMode: octal(p.NewMode), Status: 'M', Binary: p.IsBinary}
		switch {
		case p.IsNew:
			f.Status = 'A'
		case p.IsDelete:
			f.Status = 'D'
		case p.IsRename:
			f.Status = 'R'
		case p.IsCopy:
			f.Status = 'C'
		}
		for _, t := range p.TextFragments {
			f.Hunks = append(f.Hunks, hunkOf(t))
			f.Added += int(t.LinesAdded)
			f.Deleted += int(t.LinesDeleted)
		}
		d.Added += f.Added
		d.Deleted += f.Deleted
		d.Files = append(d.Files, f)
	}
	return d, before, nil
}

// stepsOfName is how many steps for each byte of a patch may go into the names of its files.
const stepsOfName = 32

// costlyNames reports whether a patch has lines that begin a file in which the library would look for the two names for long: where neither is
// quoted, it tries each space, and goes from there to the next slash.
func costlyNames(patch string) bool {
	left := stepsOfName * (len(patch) + 1<<10)
	for line := range strings.Lines(patch) {
		if strings.HasPrefix(line, beginsFile) {
			left -= len(line) * (strings.Count(line, " ") + strings.Count(line, "\t"))
		}
	}
	return left < 0
}

func octal(m os.FileMode) string {
	if m == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(m), 8)
}
