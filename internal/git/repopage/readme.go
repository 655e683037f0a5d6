package repopage

import (
	"bytes"
	"context"
	"errors"
	"html/template"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitread"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/markdown"
)

// Reader reads what a page shows of a repository's data. It never waits for a place: where there is none it fails with gitproc.ErrBusy.
type Reader interface {
	Look(ctx context.Context, dir string, l gitread.Looking) (gitread.Look, error)
}

const (
	mostReadme  = 1 << 20 // the largest README that is read, in bytes; a page shows markdown.MaxBytes of it
	stepsOfLook = front.StepsPerRequest
	tipsPerStep = 4
)

// readme has what a page shows of a README, or why it shows nothing.
type readme struct {
	Name  string // "" for none
	Text  template.HTML
	Large bool // too large to be shown
	Busy  bool // the machine was too busy to read it
	Slow  bool // reading the repository took long, or failed, so that it is read again only later
}

// readmePlaces are the directories where a README is looked for when the uppermost has none.
var readmePlaces = []string{".github", "docs"}

// formats has the formats of READMEs, the best first, by what follows the first dot of the name, in small letters.
var formats = []string{"md", "markdown", "mdown", "mkd", "", "txt", "rst", "adoc", "asciidoc", "org", "textile", "pod"}

// formatOf returns the place in formats of a file's name; below 0 for a file that is no README.
func formatOf(name string) int {
	stem, format, dotted := strings.Cut(strings.ToLower(path.Base(name)), ".")
	if stem != "readme" || dotted && format == "" {
		return -1
	}
	return slices.Index(formats, format)
}

// chooseReadme returns the README among the names of files, in the best format; "" where there is none.
func chooseReadme(names []string) (best string) {
	for _, name := range names {
		if f := formatOf(name); f >= 0 && (best == "" || f < formatOf(best)) {
			best = name
		}
	}
	return best
}

// readme renders the README as a part of the page. Of a link within the repository, which leads nowhere here, only the text stays.
func (p *Pages) readme(ctx context.Context, b *bill, name, text string, o markdown.Options) template.HTML {
	text = strings.TrimPrefix(text, "\uFEFF")
	if f := formatOf(name); f < slices.Index(formats, "") {
		return p.markdown(ctx, b, text, o)
	}
	text, cut := safetext.Cut(text, markdown.MaxBytes)
	if cut {
		text += "…"
	}
	return markdown.Plain(text)
}

// read reads the README of HEAD and the times of branches and tags, or returns what looks has kept. It fails only where the client has left:
// when git fails, the page has less on it.
func (p *Pages) read(ctx context.Context, of nip34.Address, r Repository, from front.Client) (looked, error) {
	if p.Reader == nil || r.Dir == "" || r.Refs == nil {
		return looked{}, nil
	}
	l, ok, end, err := p.looks.begin(ctx, of, r, p.Now)
	if err != nil || ok {
		return l, err
	}
	defer end()
	q := gitread.Looking{Choose: chooseReadme, Elsewhere: readmePlaces, MaxBytes: mostReadme, Tips: tips(r.Refs), Party: partyOf(from)}
	if head, born := r.Refs.Find("HEAD"); born {
		q.Commit = head.ID
	}
	from.Visitor.Charge(stepsOfLook + len(q.Tips)/tipsPerStep)
	begun := p.Now()
	found, err := p.Reader.Look(ctx, r.Dir, q)
	took := p.Now().Sub(begun)
	from.Visitor.Charge(int(took / time.Microsecond))
	if ctx.Err() != nil {
		if took >= looksSlow { // who leaves and comes again has it done no sooner
			p.looks.put(of, r, p.Now(), took, true, looked{readme: readme{Slow: true}})
		}
		return looked{}, context.Cause(ctx)
	}
	l.branches, l.tags = newest(r.Refs, found.Times)
	switch {
	case errors.Is(err, gitproc.ErrBusy): // nothing is kept, so that the next page tries again
		l.readme.Busy = true
		return l, nil
	case err != nil:
		p.Logger.Warn("a README cannot be read", "repository", of.String(), "dir", r.Dir, "error", err)
	case bytes.IndexByte(found.Text, 0) >= 0: // a binary file is no README
	default:
		l.readme.Name, l.readme.Large = found.Name, found.Large
		l.text, _ = safetext.Cut(string(found.Text), markdown.MaxBytes+4) // a little more than is shown, so that readme sees the cut
	}
	p.looks.put(of, r, p.Now(), took, err != nil, l)
	return l, nil
}

// partyOf names the network that a git process works for.
func partyOf(from front.Client) string {
	if from.Visitor == nil {
		return ""
	}
	return front.Network(from.Addr).String()
}

// tips returns the commits whose times a page shows.
func tips(all *gitwire.Refs) (ids []gitwire.ObjectID) {
	for _, r := range all.List {
		if strings.HasPrefix(r.Name, "refs/heads/") || strings.HasPrefix(r.Name, "refs/tags/") {
			ids = append(ids, r.Tip())
		}
	}
	return ids
}

// dayOf writes the day of a unix time, in UTC.
func dayOf(t int64) string { return time.Unix(t, 0).UTC().Format(time.DateOnly) }
