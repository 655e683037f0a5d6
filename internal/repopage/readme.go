package repopage

import (
	"bytes"
	"context"
	"errors"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/front"
	"github.com/graspd/graspd/internal/gitproc"
	"github.com/graspd/graspd/internal/gitrepo"
	"github.com/graspd/graspd/internal/gitwire"
	"github.com/graspd/graspd/internal/markdown"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/words"
)

// Reader reads of a repository's data what a page shows of it. It never waits for others: it fails with gitproc.ErrBusy.
type Reader interface {
	Look(ctx context.Context, dir string, l gitrepo.Looking) (gitrepo.Look, error)
}

const (
	mostReadme  = 1 << 20 // bytes of a README that is read; markdown.MaxBytes of them are shown
	stepsOfLook = front.StepsPerRequest
	tipsPerStep = 4
)

// readme is what is shown of a README, or why it is not.
type readme struct {
	Name  string // "" for none
	Text  template.HTML
	Large bool // it is too large to be shown
	Busy  bool // it could not be read just now
}

// formats of READMEs, the best first, as what follows the first dot says in small letters.
var formats = []string{"md", "markdown", "mdown", "mkd", "", "txt", "rst", "adoc", "asciidoc", "org", "textile", "pod"}

// formatOf is the place among formats of a file of that name; below 0 for what is no README.
func formatOf(name string) int {
	stem, format, dotted := strings.Cut(strings.ToLower(name), ".")
	if stem != "readme" || dotted && format == "" {
		return -1
	}
	return slices.Index(formats, format)
}

// chooseReadme is the one of some files that says what they are, "" for none.
func chooseReadme(names []string) (best string) {
	for _, name := range names {
		if f := formatOf(name); f >= 0 && (best == "" || f < formatOf(best)) {
			best = name
		}
	}
	return best
}

// renderReadme is the README as a part of the page. Links within the repository lead nowhere here: their text is left.
func renderReadme(name, text string, o markdown.Options) template.HTML {
	text = strings.TrimPrefix(text, "\uFEFF")
	if f := formatOf(name); f < slices.Index(formats, "") {
		return markdown.HTML(text, o)
	}
	text, cut := words.Cut(text, markdown.MaxBytes)
	if cut {
		text += "…"
	}
	return markdown.Plain(text)
}

// read reads the README of HEAD and the times of branches and tags, or has them kept from another time. An error is that of a client who
// has left: without git's help a page has less on it.
func (p *Pages) read(ctx context.Context, of nip34.Address, r Repository, from front.Client) (looked, error) {
	if p.Reader == nil || r.Dir == "" || r.Refs == nil {
		return looked{}, nil
	}
	if l, ok := p.looks.get(of, r, p.Now()); ok {
		return l, nil
	}
	q := gitrepo.Looking{Choose: chooseReadme, MaxBytes: mostReadme, Tips: tips(r.Refs), Party: partyOf(from)}
	if head, born := r.Refs.Find("HEAD"); born {
		q.Commit = head.ID
	}
	from.Visitor.Charge(stepsOfLook + len(q.Tips)/tipsPerStep)
	found, err := p.Reader.Look(ctx, r.Dir, q)
	if ctx.Err() != nil {
		return looked{}, context.Cause(ctx)
	}
	l := looked{}
	l.branches, l.tags = newest(r.Refs, found.Times)
	switch {
	case errors.Is(err, gitproc.ErrBusy): // and the next page tries again
		l.readme.Busy = true
		return l, nil
	case err != nil:
		p.Logger.Warn("a README cannot be read", "repository", of.String(), "dir", r.Dir, "error", err)
	case bytes.IndexByte(found.Text, 0) >= 0: // no text
	default:
		l.readme.Name, l.readme.Large = found.Name, found.Large
		l.text, _ = words.Cut(string(found.Text), markdown.MaxBytes+4) // more than is shown, so that it is seen to be cut
	}
	p.looks.put(of, r, p.Now(), err != nil, l)
	return l, nil
}

// partyOf is whose work a process does.
func partyOf(from front.Client) string {
	if from.Visitor == nil {
		return ""
	}
	return front.Network(from.Addr).String()
}

// tips are the commits whose times are shown.
func tips(all *gitwire.Refs) (ids []gitwire.ObjectID) {
	for _, r := range all.List {
		if strings.HasPrefix(r.Name, "refs/heads/") || strings.HasPrefix(r.Name, "refs/tags/") {
			ids = append(ids, tipOf(r))
		}
	}
	return ids
}

// tipOf is what a ref is about in the end.
func tipOf(r gitwire.Ref) gitwire.ObjectID {
	if !r.Peeled.IsZero() {
		return r.Peeled
	}
	return r.ID
}

// dayOf is a day of UTC.
func dayOf(t int64) string { return time.Unix(t, 0).UTC().Format(time.DateOnly) }
