package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/relayconn"
	"github.com/graspd/graspd/internal/test/testkit"
)

// judge requires that all that was acknowledged is there and nothing else is shown, that it can be cloned and is whole, and that
// whatever was cut off can be done now. It returns how many objects there are.
func (w *contributor) judge(u grasp.RelayURL) (objects int) {
	ctx := w.h.t.Context()
	c := link(ctx, u)
	if c == nil {
		w.h.t.Error("the relay cannot be reached")
		return 0
	}
	defer c.Close("over")
	if w.announced[0] {
		w.compare(ctx, c, u)
	}
	if err := w.resume(ctx, c, u); err != nil {
		w.h.t.Errorf("%s: %v", w.d, err)
		return 0
	}
	w.compare(ctx, c, u)
	return w.clone(ctx, u)
}

// compare compares what is served with what the log says. A start brings into force what a kill left complete, while people ask: as long
// as the log moves, both are asked again.
func (w *contributor) compare(ctx context.Context, c *relayconn.Conn, u grasp.RelayURL) {
	for before := w.logged(ctx, c); !w.h.t.Failed(); {
		shown := w.lsRemote(ctx, w.url(w.key, u))
		after := w.logged(ctx, c)
		if maps.Equal(before, after) {
			if !maps.Equal(shown, after) {
				w.h.t.Errorf("%s shows\n%v\nand the log says\n%v", w.d, shown, after)
			}
			return
		}
		before = after
	}
}

// logged are the refs that the events say.
func (w *contributor) logged(ctx context.Context, c *relayconn.Conn) map[string]string {
	refs := w.pullsServed(ctx, c)
	maps.Copy(refs, w.ruling(ctx, c))
	return refs
}

// ruling are the refs of the newest state that is served. That is the last one that was acknowledged, or a later one whose push
// was under way.
func (w *contributor) ruling(ctx context.Context, c *relayconn.Conn) map[string]string {
	found, err := w.ask(ctx, c, nostr.Filter{Kinds: []nostr.Kind{nip34.KindState}, Authors: []nostr.PubKey{w.key.PubKey()}, Tags: tagged("d", w.d)})
	if err != nil || len(found) > 1 {
		w.h.t.Errorf("%d states (%v)", len(found), err)
		return nil
	}
	for i := len(w.states) - 1; i >= 0; i-- {
		v := w.states[i]
		if found[v.e.ID] != nil {
			if !v.begun {
				w.h.t.Errorf("state %s is served, and nobody has pushed for it", v.e.ID)
			}
			return v.refs
		}
		if v.acked {
			w.h.t.Errorf("%s: state %d of %d was acknowledged, and it is not served, nor a later one", w.d, i, len(w.states))
			return nil
		}
	}
	if len(found) > 0 {
		w.h.t.Errorf("a state is served that nobody knows")
	}
	return nil
}

// pullsServed are the refs of the pull requests that are served: all that were acknowledged, and none for which nobody has pushed.
func (w *contributor) pullsServed(ctx context.Context, c *relayconn.Conn) map[string]string {
	found, err := w.ask(ctx, c, nostr.Filter{Kinds: []nostr.Kind{nip34.KindPullRequest}, Tags: tagged("a", testkit.RepositoryAddress(w.key, w.d))})
	if err != nil {
		w.h.t.Error(err)
	}
	refs := map[string]string{}
	for _, p := range w.pulls {
		served := found[p.e.ID] != nil
		if p.served && !served {
			w.h.t.Errorf("pull request %s is gone", p.e.ID)
		}
		if served && !p.begun {
			w.h.t.Errorf("pull request %s is served, and nobody has pushed for it", p.e.ID)
		}
		if served {
			refs["refs/nostr/"+p.e.ID.String()] = p.tip
		}
	}
	if len(refs) != len(found) {
		w.h.t.Errorf("%d pull requests are served, and %d are known", len(found), len(refs))
	}
	return refs
}

func tagged(name, value string) []nostr.TagFilter {
	return []nostr.TagFilter{{Name: name[0], Values: []string{value}}}
}

func (w *contributor) lsRemote(ctx context.Context, url string) map[string]string {
	out, err := w.run(ctx, "", "ls-remote", "-q", "--refs", url)
	if err != nil {
		w.h.t.Errorf("ls-remote: %v\n%s", err, out)
	}
	refs := map[string]string{}
	for line := range strings.Lines(out) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		refs[name] = id
	}
	return refs
}

// clone makes one with all refs, requires that nothing is wrong with it and that the mate's repository has followed, and counts
// its objects.
func (w *contributor) clone(ctx context.Context, u grasp.RelayURL) (objects int) {
	if len(w.states) == 0 {
		return 0
	}
	dir := filepath.Join(w.dir, "..", fmt.Sprintf("clone of %s", w.d))
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			w.h.t.Error(err)
		}
	}()
	url := w.url(w.key, u)
	if out, err := w.run(ctx, "", "clone", "-q", "--mirror", url, dir); err != nil {
		w.h.t.Errorf("clone: %v\n%s", err, out)
		return 0
	}
	if out, err := w.run(ctx, "", "--git-dir="+dir, "fsck", "--full", "--no-progress"); err != nil || out != "" {
		w.h.t.Errorf("fsck: %v\n%s", err, out)
	}
	remote, here := w.git("ls-remote", url), w.git("ls-remote", dir) // with HEAD and what tags are about
	if remote != here {
		w.h.t.Errorf("shown is\n%s\nand cloned\n%s", remote, here)
	}
	w.followed(ctx, u)
	w.clones++
	return strings.Count(w.git("--git-dir="+dir, "rev-list", "--objects", "--all"), "\n") + 1
}

// followed requires that the mate's repository comes to have the same branches and tags.
func (w *contributor) followed(ctx context.Context, u grasp.RelayURL) {
	refs := w.states[len(w.states)-1].refs
	for late := time.After(patience); ; {
		theirs := w.lsRemote(ctx, w.url(w.mate, u))
		if maps.Equal(theirs, refs) {
			return
		}
		select {
		case <-late:
			w.h.t.Errorf("the mate's repository shows\n%v\nand not\n%v", theirs, refs)
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}
