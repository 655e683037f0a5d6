package repopage

import (
	"context"
	"slices"

	"github.com/graspd/graspd/internal/git/gitread"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// moved says that two versions of a pull request begin at different commits of the branch that it is for.
type moved struct {
	From, To         string // short ids of these commits
	FromPath, ToPath string // of their pages
	Left             int    // files that differ by the work of others alone, which are left out
	All              bool   // nothing is left out, as the versions change too many files to tell
}

// between returns how a version differs from an earlier one, since. Where the branch has moved on between the two, it leaves out what others did
// there, and fills r.Moved. target is the tip of that branch, and base where chosen begins; zero where there is no branch.
func (r *review) between(ctx context.Context, code *gitread.Reader, v gitread.Visit, k *known, target, base gitwire.ObjectID, chosen, since version) (*gitread.Diff, error) {
	all, err := code.Diff(ctx, v, since.Tip, chosen.Tip)
	if err != nil || base.IsZero() {
		return all, err
	}
	if r.Merged { // the branch has all of it, and so says no longer where anything began
		target = base
	}
	before, err := code.MergeBase(ctx, v, target, since.Tip)
	if err == nil && before == since.Tip && !r.Merged { // the branch has that version
		before, err = r.began(ctx, code, v, since)
	}
	if err != nil || before == base || before.IsZero() {
		return all, err
	}
	was, err := code.Diff(ctx, v, before, since.Tip)
	if err != nil {
		return nil, err
	}
	is, err := code.Diff(ctx, v, base, chosen.Tip)
	if err != nil {
		return nil, err
	}
	at := k.path + "/commit/"
	r.Moved = &moved{From: before.String()[:10], To: base.String()[:10], FromPath: at + before.String(), ToPath: at + base.String(), All: was.Cut || is.Cut}
	if r.Moved.All {
		return all, nil
	}
	d := ofAuthor(all, was, is)
	r.Moved.Left = len(all.Files) - len(d.Files)
	return d, nil
}

// ofAuthor returns all without the files to which two changes do the same, or nothing.
func ofAuthor(all, was, is *gitread.Diff) *gitread.Diff {
	before, now := byPath(was), byPath(is)
	d := &gitread.Diff{Cut: all.Cut}
	for _, f := range all.Files {
		differs := func(path string) bool { return path != "" && !sameChange(before[path], now[path]) }
		if differs(f.Old) || differs(f.New) {
			d.Files = append(d.Files, f)
			d.Added += f.Added
			d.Deleted += f.Deleted
		}
	}
	return d
}

// byPath returns the files of a difference by each path that they have or had.
func byPath(d *gitread.Diff) map[string]*gitread.FileDiff {
	all := make(map[string]*gitread.FileDiff, len(d.Files))
	for i := range d.Files {
		f := &d.Files[i]
		for _, path := range []string{f.Old, f.New} {
			if path != "" {
				all[path] = f
			}
		}
	}
	return all
}

// sameChange reports whether two changes do the same to a file, wherever in it the lines stand. nil is no change. It says no where it cannot tell.
func sameChange(a, b *gitread.FileDiff) bool {
	switch {
	case a == nil || b == nil:
		return a == b
	case a.Old != b.Old || a.New != b.New || a.OldMode != b.OldMode || a.NewMode != b.NewMode:
		return false
	case a.OldID == b.OldID && a.NewID == b.NewID:
		return true
	case a.Binary || b.Binary || a.Cut || b.Cut || a.Large || b.Large:
		return false
	}
	return slices.EqualFunc(a.Hunks, b.Hunks, func(x, y gitread.Hunk) bool {
		return slices.EqualFunc(x.Lines, y.Lines, func(l, m gitread.Line) bool { return l.Op == m.Op && l.Text == m.Text && l.NoEnd == m.NoEnd })
	})
}
