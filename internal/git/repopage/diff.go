package repopage

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/git/gitread"
)

// Bounds of what a page shows of a difference.
const (
	mostFiles     = 300                 // files with a place of their own
	openLines     = 1000                // lines of files that are unfolded
	mostFileLines = gitread.MostChanged // lines of one file
	mostAllLines  = 6000                // lines of all files
	mostAllText   = 400 << 10           // bytes of these
	mostLineText  = 1000                // bytes of one
)

// diffShown is a difference as the template "diff" shows it.
type diffShown struct {
	Files          []fileShown
	All            int
	Added, Deleted int
	More           bool // there are more files than All counts
	Costly         bool // it takes git too much work
}

// fileShown is the difference of one file.
type fileShown struct {
	Anchor, Name, Was string // Was is the former name of one that was renamed
	Did               string // added, deleted, renamed, …; "" for modified
	Mode              string // how the kind of file changed, in words
	Added, Deleted    int
	Lines             []diffLine
	Open              bool
	Note              string // why there are no lines, or not all
}

// diffLine is a line of it: Is is the class, as of line, and Old and New are numbers, "" for none.
type diffLine struct{ Is, Old, New, Text string }

// signs stand before lines, by their classes.
var signs = map[string]string{"a": "+", "d": "-", "": " "}

// Text writes the lines. A template would take ten times as long, while others wait for their pages.
func (f fileShown) Text() template.HTML {
	var b strings.Builder
	for _, l := range f.Lines {
		b.WriteString(`<span`)
		if l.Is != "" {
			b.WriteString(` class="` + l.Is + `"`)
		}
		b.WriteString("><i>" + l.Old + "</i><i>" + l.New + "</i>" + signs[l.Is] + template.HTMLEscapeString(l.Text) + "</span>\n")
	}
	return template.HTML(b.String())
}

// diffOf prepares a difference for the template "diff", within the bounds of a page. Anchors on the page begin with prefix.
func diffOf(d *gitread.Diff, prefix string) *diffShown {
	return (&room{mostAllLines, mostAllText, openLines}).diff(d, prefix)
}

// diff does the work of diffOf with what is left of a page.
func (left *room) diff(d *gitread.Diff, prefix string) *diffShown {
	v := &diffShown{All: len(d.Files), Added: d.Added, Deleted: d.Deleted, More: d.Cut}
	for i := range d.Files[:min(len(d.Files), mostFiles)] {
		f := fileOf(&d.Files[i], left)
		f.Anchor = prefix + "f" + strconv.Itoa(i+1)
		v.Files = append(v.Files, f)
	}
	return v
}

// room is what is left of a page for lines.
type room struct{ lines, text, open int }

func fileOf(f *gitread.FileDiff, left *room) fileShown {
	x := fileShown{Name: shown(f.Path()), Added: f.Added, Deleted: f.Deleted, Did: didTo(f)}
	if f.Status == 'R' || f.Status == 'C' {
		x.Was = shown(f.Old)
	}
	if f.OldMode != f.NewMode && f.OldMode != "" && f.NewMode != "" {
		x.Mode = kindOf(f.OldMode) + " → " + kindOf(f.NewMode)
	}
	n := 0
	if f.Large {
		n = f.Added + f.Deleted
	}
	for _, h := range f.Hunks {
		n += len(h.Lines)
	}
	switch {
	case f.Binary:
		x.Note = "binary"
	case f.Cut:
		x.Note = "left out, as all of this is too large"
	case n > mostFileLines || n > left.lines:
		x.Note = fmt.Sprintf("%d lines, left out here", n)
	default:
		x.lines(f, left)
		x.Open = n <= left.open
		left.open -= n
	}
	return x
}

func (x *fileShown) lines(f *gitread.FileDiff, left *room) {
	for _, h := range f.Hunks {
		x.Lines = append(x.Lines, diffLine{Is: "h", Text: "@@ " + h.At + " @@ " + lineText(h.Head)})
		for _, l := range h.Lines {
			one := diffLine{Is: map[byte]string{'+': "a", '-': "d"}[l.Op], Old: numberOf(l.Old), New: numberOf(l.New), Text: lineText(l.Text)}
			if left.text -= len(one.Text); left.text < 0 {
				x.Lines, x.Note = nil, "left out, as this page would be too large"
				return
			}
			if x.Lines = append(x.Lines, one); l.NoEnd {
				x.Lines = append(x.Lines, diffLine{Is: "h", Text: `\ no end of line`})
			}
			left.lines--
		}
	}
}

// lineText makes a line of a file fit to be shown.
func lineText(s string) string {
	s, cut := safetext.Cut(strings.ToValidUTF8(s, "\uFFFD"), mostLineText)
	if cut {
		s += "…"
	}
	return s
}

func numberOf(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func didTo(f *gitread.FileDiff) string {
	return map[byte]string{'A': "added", 'D': "deleted", 'R': "renamed", 'C': "copied", 'T': "another kind of file"}[f.Status]
}

// kindOf says in words what a mode is.
func kindOf(mode string) string {
	switch mode {
	case gitread.ModeProgram:
		return "executable"
	case gitread.ModeLink:
		return "link"
	case gitread.ModeSubmodule:
		return "submodule"
	}
	return "file"
}
