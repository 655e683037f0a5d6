package gitread

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

const (
	mostDiff = 2 << 20 // bytes of a diff, with the list of its files
	// MostChanged is how many lines of a file may have changed whose hunks Diff reads.
	MostChanged = 2000
)

// emptyTree is the id of a directory without entries, which git knows without having it.
var emptyTree = func() gitwire.ObjectID {
	id, err := gitwire.ParseObjectID("4b825dc642cb6eb9a060e54bf8d69288fbee4904")
	if err != nil {
		panic(err)
	}
	return id
}()

// Diff is how two commits differ.
type Diff struct {
	Files          []FileDiff
	Added, Deleted int  // lines of all Files
	Cut            bool // there are more files than these
	size           int
}

func (d *Diff) bytes() int { return d.size }

// FileDiff is how one file differs. Of a file that was added Old is "", and of one that was deleted New.
type FileDiff struct {
	Old, New         string // paths
	OldMode, NewMode string // as Entry has them; "" for none
	OldID, NewID     gitwire.ObjectID
	Status           byte // A added, D deleted, M modified, R renamed, C copied, T another type
	Added, Deleted   int  // lines
	Binary           bool
	Hunks            []Hunk
	Cut              bool // the diff became too large before this file
	Large            bool // more than MostChanged lines have changed, and there are no Hunks
}

// Path returns the path that the file has, or had before it was deleted.
func (f *FileDiff) Path() string {
	if f.New != "" {
		return f.New
	}
	return f.Old
}

// Hunk is a part of a file that differs, with the lines around it.
type Hunk struct {
	At    string // where it stands: -1,2 +1,3
	Head  string // what git found as the heading of the part
	Lines []Line
}

// Line is a line of a hunk. Old and New are its numbers in the two files, 0 where it is not there.
type Line struct {
	Op       byte // ' ', '+' or '-'
	Old, New int
	Text     string // without the end of the line
	NoEnd    bool   // the file ends without an end of this line
}

// Diff returns how commit new differs from old, which may be zero: then it returns all of new.
func (r *Reader) Diff(ctx context.Context, v Visit, old, new gitwire.ObjectID) (*Diff, error) {
	if old.IsZero() {
		old = emptyTree
	}
	return once(ctx, r, key{repo: v.Repo, what: "diff", a: old, b: new}, func() (*Diff, error) {
		out, cut, err := r.print(ctx, v, gitproc.Compare(old, new), nil, mostDiff)
		if exited(err, 128) {
			return nil, fmt.Errorf("%w: %w", ErrNothing, err)
		}
		if err != nil {
			return nil, err
		}
		return parseDiff(out, cut)
	})
}

// parseDiff reads what gitproc.Compare prints, which may be cut anywhere.
func parseDiff(out []byte, cut bool) (*Diff, error) {
	d := &Diff{size: 3 * len(out)}
	rest := string(out)
	for strings.HasPrefix(rest, ":") {
		f, after, ok := parseRaw(rest)
		if !ok {
			return d.short(), whole(cut, rest)
		}
		d.Files, rest = append(d.Files, f), after
	}
	for i := range d.Files {
		f := &d.Files[i]
		var ok bool
		if rest, ok = f.count(rest); !ok {
			d.Files = d.Files[:i]
			return d.short(), whole(cut, rest)
		}
		d.Added += f.Added
		d.Deleted += f.Deleted
	}
	return d, d.patch(strings.TrimPrefix(rest, "\x00"), cut)
}

// short returns d as one whose list of files was cut, so that there is nothing else.
func (d *Diff) short() *Diff {
	for i := range d.Files {
		d.Files[i].Cut = true
	}
	d.Cut = true
	return d
}

// whole fails where something that was not cut cannot be read.
func whole(cut bool, rest string) error {
	if cut {
		return nil
	}
	return fmt.Errorf("git said %.100q of a difference", rest)
}

// parseRaw reads a record of --raw -z.
func parseRaw(s string) (f FileDiff, rest string, ok bool) {
	head, rest, ok := strings.Cut(s[1:], "\x00")
	words := strings.Split(head, " ")
	if !ok || len(words) != 5 || words[4] == "" {
		return f, s, false
	}
	f.Status = words[4][0]
	f.OldMode, f.NewMode = modeOf(words[0]), modeOf(words[1])
	f.OldID, _ = gitwire.ParseObjectID(words[2])
	f.NewID, _ = gitwire.ParseObjectID(words[3])
	if f.Old, rest, ok = strings.Cut(rest, "\x00"); !ok {
		return f, s, false
	}
	f.Old = strings.Clone(f.Old) // so that it does not keep all that git has printed
	switch f.New = f.Old; f.Status {
	case 'R', 'C':
		f.New, rest, ok = strings.Cut(rest, "\x00")
		f.New = strings.Clone(f.New)
	case 'A':
		f.Old = ""
	case 'D':
		f.New = ""
	}
	return f, rest, ok
}

// modeOf returns a mode as directories have it.
func modeOf(s string) string { return strings.TrimLeft(s, "0") }

// count reads a record of --numstat -z.
func (f *FileDiff) count(s string) (rest string, ok bool) {
	added, rest, ok1 := strings.Cut(s, "\t")
	deleted, rest, ok2 := strings.Cut(rest, "\t")
	_, rest, ok3 := strings.Cut(rest, "\x00")
	ok = ok1 && ok2 && ok3
	if ok && (f.Status == 'R' || f.Status == 'C') {
		_, rest, ok1 = strings.Cut(rest, "\x00")
		_, rest, ok2 = strings.Cut(rest, "\x00")
		ok = ok1 && ok2
	}
	f.Binary = added == "-"
	f.Added, _ = strconv.Atoi(added)
	f.Deleted, _ = strconv.Atoi(deleted)
	return rest, ok
}

// patch adds the hunks of a patch, in which the files stand in the same order. What was cut in the middle is left out.
func (d *Diff) patch(s string, cut bool) error {
	parts := sections(s)
	if cut && len(parts) > 0 {
		parts = parts[:len(parts)-1]
	}
	for i := range d.Files {
		f := &d.Files[i]
		n := 1
		if f.Status == 'T' {
			n = 2 // git deletes the one and adds the other
		}
		if len(parts) < n {
			f.Cut = true
			if !cut {
				return fmt.Errorf("git printed no difference of %q", f.Path())
			}
			continue
		}
		f.Large = f.Added+f.Deleted > MostChanged
		for _, part := range parts[:n] {
			if f.Large {
				d.size -= 3 * len(part)
				continue
			}
			hunks, err := ParseFile(part)
			if err != nil {
				return err
			}
			f.Hunks = append(f.Hunks, hunks...)
		}
		parts = parts[n:]
	}
	return nil
}

const beginsFile = "diff --git " // the line with which a patch begins what is about a file

// sections splits a patch into the parts of its files.
func sections(s string) (parts []string) {
	for s != "" {
		part, _, more := strings.Cut(s, "\n"+beginsFile)
		if more {
			part += "\n"
		}
		parts = append(parts, part)
		s = s[len(part):]
	}
	return parts
}

// ParseFile returns the hunks of the part of a patch that is about one file. What stands before them is not read: names can be anything.
func ParseFile(part string) (hunks []Hunk, err error) {
	i := strings.Index("\n"+part, "\n@@ -")
	if i < 0 {
		return nil, nil
	}
	files, _, err := gitdiff.Parse(strings.NewReader("--- a/x\n+++ b/x\n" + part[i:]))
	if err != nil {
		return nil, fmt.Errorf("a difference cannot be read: %w", err)
	}
	for _, f := range files {
		for _, t := range f.TextFragments {
			hunks = append(hunks, hunkOf(t))
		}
	}
	return hunks, nil
}

func hunkOf(t *gitdiff.TextFragment) Hunk {
	h := Hunk{At: fmt.Sprintf("-%d,%d +%d,%d", t.OldPosition, t.OldLines, t.NewPosition, t.NewLines), Head: t.Comment, Lines: make([]Line, 0, len(t.Lines))}
	old, new := int(t.OldPosition), int(t.NewPosition)
	for _, l := range t.Lines {
		x := Line{Op: l.Op.String()[0], NoEnd: l.NoEOL()}
		x.Text = strings.TrimSuffix(strings.TrimSuffix(l.Line, "\n"), "\r")
		if l.Old() {
			x.Old = old
			old++
		}
		if l.New() {
			x.New = new
			new++
		}
		h.Lines = append(h.Lines, x)
	}
	return h
}

// split returns the names of a path.
func split(path string) []string {
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}
