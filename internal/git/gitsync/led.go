package gitsync

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/git/gitfetch"
	"github.com/graspd/graspd/internal/git/gitplan"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Many servers give by id only what they show. What such a server withholds may come with what it shows, so Sync asks for the tips that may
// lead there, and sees what comes: first for the refs that the events name, as they are at the server, then for all its branches and tags.

// mostTips is how many tips Sync asks for at once.
const mostTips = 1000

// led asks a server for what it withheld by id, and returns what came of it, in words for the log where nothing did.
func (s *Sync) led(ctx context.Context, f gitplan.Fetch, r gitfetch.Request, lack refdb.Lack, taking *hosting.Taking, first gitfetch.Result) (gitfetch.Result, string, error) {
	res, refs := first, first.Refs
	ctx, stop := context.WithCancelCause(ctx) // as in ask
	defer stop(nil)
	needs := withheld(lack.Needs, first.Withheld, taking.Brought)
	if len(needs) == 0 || refs == nil {
		return res, unshown(first), nil
	}
	all, tried := leading(refs, needs), 0
	if s.vain.has(f, all[len(all)-1], needs) {
		return res, unshown(first) + "; what its refs lead to did not have it either, and they are the same as then", nil
	}
	for _, tips := range all {
		if tried = len(tips); tried == 0 {
			continue
		}
		r.Groups = [][]gitwire.ObjectID{tips}
		r.Pack = func(ctx context.Context, _ []gitwire.ObjectID, pack io.Reader) error {
			err := taking.Pack(ctx, idsOf(needs), pack, stop)
			if _, missing := errors.AsType[*gitrepo.MissingError](err); missing {
				return nil // the pack has no fault
			}
			return err
		}
		next, err := s.cfg.Fetcher.Fetch(ctx, r)
		res.Requests, res.Bytes = res.Requests+next.Requests, res.Bytes+next.Bytes
		if err != nil {
			return res, "", yielded(ctx, err)
		}
		if needs = withheld(needs, first.Withheld, taking.Brought); len(needs) == 0 {
			return res, "", nil
		}
	}
	s.vain.put(f, all[len(all)-1], needs)
	return res, fmt.Sprintf("%s; what %d of its refs lead to does not have it either", unshown(first), tried), nil
}

// unshown says that a server has not given what was asked for, and how it said so.
func unshown(r gitfetch.Result) string {
	switch {
	case r.Refs != nil && len(r.Refs.List) == 0:
		return "shows no refs"
	case r.Said != "":
		return "does not show what is lacked here, and says, asked for it by id: " + r.Said
	}
	return "does not show what is lacked here"
}

// withheld returns the needs of which a server may have what it did not give, and which were not brought since.
func withheld(needs []refdb.Need, ids []gitwire.ObjectID, brought []nostr.ID) (out []refdb.Need) {
	for _, n := range needs {
		if !slices.Contains(brought, n.Event) && slices.ContainsFunc(n.IDs, func(id gitwire.ObjectID) bool { return slices.Contains(ids, id) }) {
			out = append(out, n)
		}
	}
	return out
}

// idsOf returns the objects of needs.
func idsOf(needs []refdb.Need) (ids []gitwire.ObjectID) {
	for _, n := range needs {
		ids = append(ids, n.IDs...)
	}
	return ids
}

// leading returns the tips of a server that may lead to what is needed: those of the refs that the events name, and those of all branches and
// tags beside them, with the pull requests where a pull request is needed.
func leading(refs *gitwire.Refs, needs []refdb.Need) [2][]gitwire.ObjectID {
	named, pulls := map[string]bool{}, false
	for _, n := range needs {
		pulls = pulls || n.Tip
		for _, name := range n.Refs {
			named[name] = true
		}
	}
	var out [2][]gitwire.ObjectID
	seen := map[gitwire.ObjectID]bool{}
	add := func(to int, is func(name string) bool) {
		for _, r := range refs.List {
			if is(r.Name) && !seen[r.ID] && len(seen) < mostTips {
				seen[r.ID] = true
				out[to] = append(out[to], r.ID)
			}
		}
	}
	add(0, func(name string) bool { return named[name] })
	out[1] = slices.Clone(out[0])
	add(1, func(name string) bool { return name == refs.Head })
	for _, space := range []string{"refs/heads/", "refs/tags/", "refs/nostr/"} {
		add(1, func(name string) bool { return strings.HasPrefix(name, space) && (pulls || space != "refs/nostr/") })
	}
	if len(out[1]) == len(out[0]) {
		out[0] = nil // they are all
	}
	return out
}

// vainKept bounds what vain remembers. Beyond it vain forgets all, and fetches find it out again.
const vainKept = 10_000

// vain has the tips that servers gave without what was needed, so that nobody is asked for the same twice.
type vain struct {
	mu sync.Mutex
	of map[[sha256.Size]byte]bool
}

func (v *vain) key(f gitplan.Fetch, tips []gitwire.ObjectID, needs []refdb.Need) [sha256.Size]byte {
	text := []byte(f.Of.String() + " " + string(f.Source))
	for _, ids := range [][]gitwire.ObjectID{tips, idsOf(needs)} {
		text = append(text, ' ')
		for _, id := range ids {
			text = id.AppendHex(text)
		}
	}
	return sha256.Sum256(text)
}

func (v *vain) put(f gitplan.Fetch, tips []gitwire.ObjectID, needs []refdb.Need) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.of == nil || len(v.of) >= vainKept {
		v.of = map[[sha256.Size]byte]bool{}
	}
	v.of[v.key(f, tips, needs)] = true
}

func (v *vain) has(f gitplan.Fetch, tips []gitwire.ObjectID, needs []refdb.Need) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.of[v.key(f, tips, needs)]
}
