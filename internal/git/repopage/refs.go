package repopage

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

const perRefs = 100 // branches or tags on one page

// refsPage has one page of branches or tags.
type refsPage struct {
	Home, What  string
	Refs        []refShown
	All         int
	Page, Pages int
}

type refShown struct {
	Name, At string // At is the name in paths, escaped
	Head     bool
	Last     *oneLine // nil for what is no commit
}

// branches shows all branches: that of HEAD first, the others by name.
func (p *Pages) branches(ctx context.Context, c *code) (answer, error) {
	return p.refs(ctx, c, "refs/heads/", "Branches", func(a, b string) int { return cmp.Compare(a, b) })
}

// tags shows all tags, the highest version first.
func (p *Pages) tags(ctx context.Context, c *code) (answer, error) {
	return p.refs(ctx, c, "refs/tags/", "Tags", func(a, b string) int { return versions(b, a) })
}

func (p *Pages) refs(ctx context.Context, c *code, prefix, what string, order func(a, b string) int) (a answer, err error) {
	if err := c.data(p); err != nil {
		return a, err
	}
	number, err := numberIn(c.q, "page")
	if err != nil || c.rest != "" {
		return a, errors.Join(err, errNothing)
	}
	all := slices.DeleteFunc(slices.Clone(c.r.Refs.List), func(r gitwire.Ref) bool { return !strings.HasPrefix(r.Name, prefix) })
	head := func(r gitwire.Ref) int {
		if r.Name == c.r.Refs.Head {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b gitwire.Ref) int { return cmp.Or(head(a)-head(b), order(a.Name, b.Name)) })
	v := &refsPage{Home: c.home, What: what, All: len(all), Page: number, Pages: max(1, (len(all)+perRefs-1)/perRefs)}
	if number > v.Pages {
		return a, errNothing
	}
	some := all[(number-1)*perRefs : min(len(all), number*perRefs)]
	var tips []gitwire.ObjectID
	for _, r := range some {
		tips = append(tips, r.Tip())
	}
	found, err := p.Code.Dated(ctx, c.read, tips)
	if err != nil {
		return a, err
	}
	for _, r := range some {
		one := refShown{Name: shown(r.Name[len(prefix):]), At: escapePath(shortRef(c.r.Refs, r)), Head: head(r) == 0}
		if x := found[r.Tip()]; x != nil {
			one.Last = c.line(x)
		}
		v.Refs = append(v.Refs, one)
	}
	return answer{page: page{frame{Title: what, Tab: "files", Summary: what + " of " + c.name}, "refs.html", v}}, nil
}

// versions compares names so that numbers in them count as numbers: v1.9 is less than v1.10.
func versions(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x == "" || y == "" {
			if c := cmp.Compare(a[0], b[0]); c != 0 {
				return c
			}
			a, b = a[1:], b[1:]
			continue
		}
		a, b = a[len(x):], b[len(y):]
		x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		if c := cmp.Or(len(x)-len(y), cmp.Compare(x, y)); c != 0 {
			return c
		}
	}
	return len(a) - len(b)
}

// digits returns the number with which a name begins, "" for none.
func digits(s string) string { return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))] }
