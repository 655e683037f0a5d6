package gitread

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// ParsePatch reads a patch that somebody has sent: the files in it, and what stands before them. What follows the last hunk, such as the version
// of git, belongs to no file. The work is linear in the length.
func ParsePatch(patch string) (d *Diff, before string, err error) {
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

func octal(m os.FileMode) string {
	if m == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(m), 8)
}
