package sim

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/git/gitfetch"
	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/git/gitrepo/gitfake"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/status"
)

// hosting returns how a graspd of a world hosts repositories: on a disk in memory, which knows commits only as names. It fetches from the others of
// the world, without a process or a byte of HTTP.
func (g *Graspd) hosting() *node.Git {
	if g.disk == nil {
		g.disk = gitfake.New()
	}
	return &node.Git{Disk: g.disk, Contributors: g.Contributors, Sync: &node.GitSync{Fetcher: neighbours{g}}}
}

// LoseGit removes all git data of a stopped relay.
func (g *Graspd) LoseGit() { g.disk = gitfake.New() }

// Push pushes objects of the world's History as git would, and returns what the relay says is wrong; "" if nothing is.
func (g *Graspd) Push(of nip34.Address, commands ...gitwire.Command) string {
	var tips, haves []gitwire.ObjectID
	for _, c := range commands {
		if !c.New.IsZero() {
			tips = append(tips, c.New)
		}
		if !c.Old.IsZero() {
			haves = append(haves, c.Old)
		}
	}
	h := &g.w.History
	result := g.run.Host.Push(context.Background(), githttp.PushCall{
		Of: of, From: "client", Push: &gitwire.Push{Commands: commands}, Pack: bytes.NewReader(h.Pack(h.All(tips, haves))), Progress: func(string) {},
	})
	wrong := result.Unpack
	for _, o := range result.Outcomes {
		wrong += o.Refused
	}
	return wrong
}

// Refs returns the refs of a repository that the relay serves.
func (g *Graspd) Refs(of nip34.Address) *gitwire.Refs {
	g.w.t.Helper()
	r, _, err := g.run.Host.Find(of)
	if err != nil {
		g.w.t.Fatal(err)
	}
	return r.Refs
}

// Serves reports whether the relay serves a branch or tag at an object, and has that object.
func (g *Graspd) Serves(of nip34.Address, ref gitwire.Ref) bool {
	g.w.t.Helper()
	r, _, err := g.run.Host.Find(of)
	if err != nil {
		g.w.t.Fatal(err)
	}
	id, err := gitrepo.ParseID(r.Dir)
	if err != nil || !slices.Contains(r.Refs.List, ref) {
		return false
	}
	missing, err := g.disk.Missing(id, []gitwire.ObjectID{ref.ID})
	return err == nil && len(missing) == 0
}

// neighbours fetches for one graspd from the others of its world, as from git servers.
type neighbours struct{ g *Graspd }

var errUnreachable = errors.New("the server cannot be reached")

// Advertised returns the refs that a neighbour serves.
func (n neighbours) Advertised(ctx context.Context, r gitfetch.Request) (gitfetch.Result, error) {
	_, refs, err := n.find(ctx, r.URL)
	return gitfetch.Result{Refs: refs, Requests: 2}, err
}

func (n neighbours) find(ctx context.Context, source string) (*Graspd, *gitwire.Refs, error) {
	u, err := url.Parse(source)
	if err != nil {
		return nil, nil, err
	}
	select {
	case <-time.After(50 * time.Millisecond):
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	w := n.g.w
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.all, func(g *Graspd) bool { return g.Name == u.Hostname() })
	if i < 0 || w.all[i].up == nil {
		return nil, nil, errUnreachable
	}
	if members := w.all[i].Members; members != nil {
		if _, ok := members[n.g.Key()]; !ok {
			return nil, nil, &gitfetch.StatusError{Code: 401}
		}
	}
	path, contributed := strings.CutPrefix(u.EscapedPath(), grasp.ContributedPath)
	owner, d, _, err := grasp.ParseRepositoryPath(path)
	if err != nil {
		return nil, nil, &gitfetch.StatusError{Code: 404}
	}
	of := nip34.Address{Kind: nip34.KindRepository, PubKey: owner, D: d}
	if contributed {
		of = grasp.Contributed(owner, d)
	}
	r, ok, err := w.all[i].up.Host.Find(of)
	if err != nil || !ok {
		return nil, nil, errors.Join(err, &gitfetch.StatusError{Code: 404})
	}
	return w.all[i], r.Refs, nil
}

// Fetch fetches those groups whose objects are all shown by refs of the neighbour.
func (n neighbours) Fetch(ctx context.Context, r gitfetch.Request) (res gitfetch.Result, err error) {
	from, refs, err := n.find(ctx, r.URL)
	if err != nil {
		return res, err
	}
	res = gitfetch.Result{Refs: refs, Requests: 3}
	shown := map[gitwire.ObjectID]bool{}
	for _, x := range refs.List {
		shown[x.ID] = true
	}
	var ids []gitwire.ObjectID
	for _, group := range r.Groups {
		if !slices.ContainsFunc(group, func(id gitwire.ObjectID) bool { return !shown[id] }) {
			ids = append(ids, group...)
		} else {
			res.Lacks = append(res.Lacks, group...)
		}
	}
	if len(ids) == 0 {
		return res, nil
	}
	h := &from.w.History
	pack := h.Pack(h.All(ids, r.Haves))
	res.Bytes = int64(len(pack))
	return res, r.Pack(ctx, ids, bytes.NewReader(pack))
}

// CloneURL returns the clone URL of a repository at this relay.
func (g *Graspd) CloneURL(of nip34.Address) string {
	at := g.Service.CloneURL
	if grasp.IsContributed(of) {
		at = g.Service.ContributedURL
	}
	return strings.Replace(at(of.PubKey, of.D), "https://", "http://", 1)
}

// GitSync returns the state of the relay's search for git data.
func (g *Graspd) GitSync(ctx context.Context) status.GitSync { return g.run.GitSync.Status(ctx) }

// Connected reports whether the relay is connected to another one.
func (g *Graspd) Connected(ctx context.Context, to grasp.RelayURL) bool {
	return slices.ContainsFunc(g.Engine().Relays(ctx), func(r status.Relay) bool { return r.URL == to && r.Connected })
}
