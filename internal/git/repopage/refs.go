package repopage

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

const (
	perRefs    = 100 // branches or tags on one page
	stepsOfRef = 4   // of one that is put in order
)

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
	return p.refs(ctx, c, "refs/heads/", "Branches", func(name string) string { return name }, 1)
}

// tags shows all tags, the highest version first.
func (p *Pages) tags(ctx context.Context, c *code) (answer, error) {
	return p.refs(ctx, c, "refs/tags/", "Tags", versionKey, -1)
}

// refs shows one page of refs, in the order of their keys where way is 1, and the other way round where it is -1.
func (p *Pages) refs(ctx context.Context, c *code, prefix, what string, key func(name string) string, way int) (a answer, err error) {
	if err := c.data(p); err != nil {
		return a, err
	}
	number, err := numberIn(c.q, "page")
	if err != nil || c.rest != "" {
		return a, errors.Join(err, errNothing)
	}
	c.b.visitor.Charge(stepsOfRef * len(c.r.Refs.List))
	end, err := p.place(ctx, c.of, c.from)
	if err != nil {
		return a, err
	}
	defer func() { end() }()
	all := inOrder(c.r.Refs, prefix, key, way)
	v := &refsPage{Home: c.home, What: what, All: len(all), Page: number, Pages: max(1, (len(all)+perRefs-1)/perRefs)}
	if number > v.Pages {
		return a, errNothing
	}
	end()
	end = func() {} // git may take its time
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
		one := refShown{Name: shown(r.Name[len(prefix):]), At: escapePath(shortRef(c.r.Refs, r)), Head: r.Name == c.r.Refs.Head}
		if x := found[r.Tip()]; x != nil {
			one.Last = c.line(x)
		}
		v.Refs = append(v.Refs, one)
	}
	return answer{page: page{frame{Title: what, Tab: "files", Summary: what + " of " + c.name}, "refs.html", v}}, nil
}

// inOrder returns the refs whose names begin with prefix: that of HEAD first, the others by their keys.
func inOrder(refs *gitwire.Refs, prefix string, key func(name string) string, way int) (all []gitwire.Ref) {
	type keyed struct {
		gitwire.Ref
		key string
	}
	var some []keyed
	for _, r := range refs.List {
		if name, ok := strings.CutPrefix(r.Name, prefix); ok {
			some = append(some, keyed{r, key(name)})
		}
	}
	slices.SortFunc(some, func(a, b keyed) int {
		return cmp.Or(way*strings.Compare(a.key, b.key), strings.Compare(a.Name, b.Name))
	})
	for _, x := range some {
		all = append(all, x.Ref)
	}
	if i := slices.IndexFunc(all, func(r gitwire.Ref) bool { return r.Name == refs.Head }); i > 0 {
		head := all[i]
		copy(all[1:], all[:i])
		all[0] = head
	}
	return all
}

// versionKey returns a text by whose order names stand in that of their numbers: v1.9 before v1.10.
func versionKey(name string) string {
	key := make([]byte, 0, len(name)+16)
	for name != "" {
		n := 0
		for n < len(name) && '0' <= name[n] && name[n] <= '9' {
			n++
		}
		if n == 0 {
			key, name = append(key, name[0]), name[1:]
			continue
		}
		number := strings.TrimLeft(name[:n], "0")
		key, name = append(append(key, '0', byte(len(number)>>8), byte(len(number))), number...), name[n:]
	}
	return string(key)
}
