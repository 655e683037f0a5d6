package repopage

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/git/gitread"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

const (
	perCommits  = 30 // commits along first parents on one page
	mostMessage = 16 << 10
)

// commitsShown has one page of the commits of a branch.
type commitsShown struct {
	codeHead
	Days []dayOfCommits
	Next string // the query of the next page, "" for none
	Cut  bool   // merges brought more than are shown
}

// dayOfCommits has commits of one day that follow each other.
type dayOfCommits struct {
	Day     string
	Commits []*oneLine
}

// commits shows commits of a branch, from its tip on or from one that the query names.
func (p *Pages) commits(ctx context.Context, c *code) (a answer, err error) {
	s, err := c.spot(ctx, p)
	if err != nil {
		return a, err
	}
	if s.Path != "" {
		return a, errNothing
	}
	from := s.Commit
	if q := c.q.Get("from"); q != "" {
		if from, err = gitwire.ParseObjectID(q); err != nil {
			return a, errNothing
		}
		if err := c.led(ctx, p, from); err != nil {
			return a, err
		}
	}
	all, next, cut, err := p.Code.History(ctx, c.read, from, perCommits)
	if err != nil {
		return a, err
	}
	v := &commitsShown{codeHead: c.head("commits", s), Cut: cut, Days: c.days(all)}
	v.Crumbs[0].Path = c.home + "/tree/" + v.At
	if !next.IsZero() {
		v.Next = "?from=" + next.String()
	}
	return answer{page: page{frame{Title: "Commits", Tab: "commits", Summary: "Commits of " + c.name}, "commits.html", v}, Fixed: s.Fixed}, nil
}

// days groups commits by the days on which they were committed.
func (c *code) days(all []*gitread.Commit) (days []dayOfCommits) {
	for _, x := range all {
		l := c.line(x)
		if len(days) == 0 || days[len(days)-1].Day != l.Day {
			days = append(days, dayOfCommits{Day: l.Day})
		}
		last := &days[len(days)-1]
		last.Commits = append(last.Commits, l)
	}
	return days
}

// commitShown has what the page of a commit shows.
type commitShown struct {
	Home, ID          string
	Author, Committer string // Committer is "" where they are the same
	AuthorDay, Day    string
	Body              string
	Signature         string
	Parents           []*oneLine
	Diff              *diffShown
}

// commit shows one commit with how it differs from its first parent.
func (p *Pages) commit(ctx context.Context, c *code) (a answer, err error) {
	if err := c.data(p); err != nil {
		return a, err
	}
	id, err := gitwire.ParseObjectID(c.rest)
	if err != nil {
		s, ok := spotOf(c.r.Refs, c.rest)
		if !ok || s.Path != "" {
			return a, gitread.ErrNothing
		}
		return a, movedTo(c.home + "/commit/" + s.Commit.String())
	}
	if err := c.led(ctx, p, id); err != nil {
		return a, err
	}
	a, ok := c.before(p, spot{Commit: id, Fixed: true}, "")
	if ok {
		return a, nil
	}
	x, err := p.Code.Commit(ctx, c.read, id)
	if err != nil {
		return a, err
	}
	parents, err := p.Code.Dated(ctx, c.read, x.Parents)
	if err != nil {
		return a, err
	}
	l := c.line(x)
	body, cut := safetext.Cut(strings.ToValidUTF8(x.Body, "\uFFFD"), mostMessage)
	if cut {
		body += "…"
	}
	v := &commitShown{Home: c.home, ID: id.String(), Author: shown(x.Author.Name), AuthorDay: day(x.Author), Day: l.Day, Body: body, Signature: x.Signature}
	if x.Committer.Name != x.Author.Name || x.Committer.Email != x.Author.Email || l.Day != v.AuthorDay {
		v.Committer = shown(x.Committer.Name)
	}
	for _, id := range x.Parents {
		if parent := parents[id]; parent != nil {
			v.Parents = append(v.Parents, c.line(parent))
		}
	}
	switch d, err := p.Code.Diff(ctx, c.read, x.Parent(), id); {
	case err == nil:
		v.Diff = diffOf(d, "")
	case errors.Is(err, gitread.ErrCostly), errors.Is(err, gitread.ErrNothing):
		v.Diff = &diffShown{Costly: true}
		a.key = [sha256.Size]byte{}
	default:
		return a, err
	}
	a.page, a.Fixed = page{frame{Title: l.Subject, Tab: "commits", Summary: "A commit of " + c.name}, "commit.html", v}, true
	return a, nil
}
