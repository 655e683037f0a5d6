package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/relayconn"
	"github.com/graspd/graspd/internal/test/testkit"
)

// contributor maintains a repository, with somebody else whose own follows, and goes on after every kill where they were.
type contributor struct {
	h    *pushCrash
	r    *rand.Rand
	key  nostr.SecretKey
	mate nostr.SecretKey
	d    string
	dir  string // their clone, which has all that they ever made

	announced [2]bool // theirs and their mate's
	events    [2]*event
	states    []*pushState
	pulls     []*pull
	at        int64             // created_at of what they published last
	refs      map[string]string // of the last state

	acked, again, clones int
	questions            int // that they asked
}

// pushState is a state, and how far it came.
type pushState struct {
	e     *event
	refs  map[string]string
	heard bool // OK true
	begun bool // its push was
	acked bool // git push ended well
}

// pull is a pull request, and how far it came.
type pull struct {
	e      *event
	tip    string
	early  bool // its tip is pushed before its event
	heard  bool
	begun  bool
	served bool
}

func newContributor(h *pushCrash, i int) *contributor {
	w := &contributor{h: h, r: rand.New(rand.NewPCG(h.seed, uint64(200+i))), key: testkit.Key(5000 + 2*i), mate: testkit.Key(5001 + 2*i),
		d: fmt.Sprint("repository ", i), dir: h.t.TempDir(), at: time.Now().Unix() - 1_000_000, refs: map[string]string{}}
	w.git("init", "-q", "--bare", "-b", "main")
	w.events[0], w.events[1] = w.announce(w.key, w.mate), w.announce(w.mate, w.key)
	return w
}

func (w *contributor) announce(by, with nostr.SecretKey) *event {
	return testkit.Sign(by, w.at, nip34.KindRepository, "", nostr.Tag{"d", w.d}, nostr.Tag{"maintainers", with.PubKey().String()},
		nostr.Tag{"clone", w.h.service.CloneURL(by.PubKey(), w.d)}, nostr.Tag{"relays", string(w.h.service.RelayURL())})
}

// run runs git in their clone.
func (w *contributor) run(ctx context.Context, in string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "git", args...)
	c.Dir, c.Stdin = w.dir, strings.NewReader(in)
	c.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	out, err := c.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (w *contributor) git(args ...string) string { return w.feed("", args...) }

func (w *contributor) feed(in string, args ...string) string {
	w.h.t.Helper()
	out, err := w.run(context.Background(), in, args...)
	if err != nil {
		w.h.t.Errorf("git %q: %v\n%s", args, err, out)
	}
	return out
}

// commits makes some, upon one or upon none, and gives the last one's id.
func (w *contributor) commits(n int, upon string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "feature done\nreset refs/x\n")
	if upon != "" {
		fmt.Fprintf(&b, "from %s\n\n", upon)
	}
	for range n {
		text := fmt.Sprintf("%x", w.r.Uint64())
		size := 1 << w.r.IntN(15)
		fmt.Fprintf(&b, "commit refs/x\ncommitter a <a@example.org> %d +0000\ndata %d\n%s\n", 1_700_000_000+w.r.IntN(1000), len(text), text)
		body := strings.Repeat(text, 1+size/len(text))
		fmt.Fprintf(&b, "M 644 inline dir%d/%s\ndata %d\n%s\n\n", w.r.IntN(3), text[:2], len(body), body)
	}
	b.WriteString("done\n")
	w.feed(b.String(), "fast-import", "--quiet", "--force")
	return w.git("rev-parse", "refs/x")
}

// next changes what the refs are to be.
func (w *contributor) next() *pushState {
	refs := map[string]string{}
	for name, id := range w.refs {
		refs[name] = id
	}
	refs["refs/heads/main"] = w.commits(1+w.r.IntN(5), refs["refs/heads/main"])
	branch := fmt.Sprint("refs/heads/b", w.r.IntN(4))
	switch w.r.IntN(5) {
	case 0:
		refs[branch] = w.commits(1, refs["refs/heads/main"])
	case 1:
		delete(refs, branch)
	case 2:
		name := fmt.Sprint("v", len(w.states))
		w.git("tag", "-a", "-m", name, name, refs["refs/heads/main"])
		refs["refs/tags/"+name] = w.git("rev-parse", "refs/tags/"+name)
	case 3:
		refs[branch] = w.commits(1, "")
	}
	w.at++
	tags := nostr.Tags{{"d", w.d}, {"HEAD", "ref: refs/heads/main"}}
	for name, id := range refs {
		tags = append(tags, nostr.Tag{name, id})
	}
	w.refs = refs
	v := &pushState{e: testkit.Sign(w.key, w.at, nip34.KindState, "", tags...), refs: refs}
	w.states = append(w.states, v)
	return v
}

func (w *contributor) nextPull() *pull {
	w.at++
	p := &pull{tip: w.commits(1+w.r.IntN(3), w.refs["refs/heads/main"]), early: w.r.IntN(2) == 0}
	p.e = testkit.Sign(testkit.Key(6000), w.at, nip34.KindPullRequest, fmt.Sprint(w.r.Uint64()), nostr.Tag{"a", testkit.RepositoryAddress(w.key, w.d)},
		nostr.Tag{"c", p.tip}, nostr.Tag{"clone", "https://example.com/fork.git"})
	w.pulls = append(w.pulls, p)
	return p
}

// errGone says that the relay does not answer any more.
var errGone = errors.New("the relay is gone")

// work goes on until the relay is gone.
func (w *contributor) work(ctx context.Context, u grasp.RelayURL) {
	c := link(ctx, u)
	if c == nil {
		return
	}
	defer c.Close("over")
	for w.resume(ctx, c, u) == nil {
		if len(w.states) < 2 || w.r.IntN(3) > 0 {
			w.next()
		} else {
			w.nextPull()
		}
	}
}

// resume brings everything that is not acknowledged to its end.
func (w *contributor) resume(ctx context.Context, c *relayconn.Conn, u grasp.RelayURL) error {
	for i, e := range w.events {
		if !w.announced[i] {
			if err := w.publish(ctx, c, e); err != nil {
				return err
			}
			w.announced[i] = true
		}
	}
	if n := len(w.states); n > 0 && !w.states[n-1].acked {
		if err := w.state(ctx, c, u, w.states[n-1]); err != nil {
			return err
		}
	}
	for _, p := range w.pulls {
		if !p.served {
			if err := w.pull(ctx, c, u, p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *contributor) state(ctx context.Context, c *relayconn.Conn, u grasp.RelayURL, v *pushState) error {
	if !v.heard {
		if err := w.publish(ctx, c, v.e); err != nil {
			return err
		}
		v.heard = true
	}
	var local strings.Builder
	for _, line := range strings.Split(w.git("for-each-ref", "--format=%(refname)", "refs/push/"), "\n") {
		if line != "" {
			fmt.Fprintf(&local, "delete %s\n", line)
		}
	}
	if err := w.stage(local.String(), v.refs); err != nil {
		return err
	}
	if v.begun {
		w.again++
	}
	v.begun = true
	if err := w.push(ctx, "--prune", w.url(w.key, u), "+refs/push/heads/*:refs/heads/*", "+refs/push/tags/*:refs/tags/*"); err != nil {
		return err
	}
	v.acked = true
	w.acked++
	return w.mustServe(ctx, c, v.e)
}

// stage makes the refs in their clone which a push is to bring.
func (w *contributor) stage(before string, refs map[string]string) error {
	if before != "" {
		if out, err := w.run(context.Background(), before, "update-ref", "--stdin"); err != nil {
			w.h.t.Errorf("update-ref: %v: %s", err, out)
			return err
		}
	}
	var b strings.Builder
	for name, id := range refs {
		fmt.Fprintf(&b, "create refs/push/%s %s\n", strings.TrimPrefix(name, "refs/"), id)
	}
	out, err := w.run(context.Background(), b.String(), "update-ref", "--stdin")
	if err != nil {
		w.h.t.Errorf("update-ref: %v: %s", err, out)
	}
	return err
}

func (w *contributor) pull(ctx context.Context, c *relayconn.Conn, u grasp.RelayURL, p *pull) error {
	send := func() error {
		if p.heard {
			return nil
		}
		err := w.publish(ctx, c, p.e)
		p.heard = err == nil
		return err
	}
	bring := func() error {
		if p.begun {
			w.again++
		}
		p.begun = true
		return w.push(ctx, w.url(w.key, u), p.tip+":refs/nostr/"+p.e.ID.String())
	}
	steps := []func() error{send, bring}
	if p.early {
		slices.Reverse(steps)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	for {
		served, err := w.serves(ctx, c, p.e)
		if err != nil {
			return err
		}
		if p.served = served; served {
			return nil
		}
		if !p.early {
			w.h.t.Errorf("pull request %s is not served though its tip was pushed", p.e.ID)
			return errGone
		}
		pause(2 * time.Millisecond) // its commit waited for it, and follows
	}
}

func (w *contributor) url(key nostr.SecretKey, u grasp.RelayURL) string {
	return "http" + strings.TrimPrefix(string(u), "ws") + strings.TrimPrefix(w.h.service.CloneURL(key.PubKey(), w.d), w.h.service.WebURL())
}

// push pushes, which succeeds unless the relay is killed meanwhile.
func (w *contributor) push(ctx context.Context, args ...string) error {
	out, err := w.run(ctx, "", append([]string{"push"}, args...)...)
	if err == nil {
		return nil
	}
	if !w.h.over.Load() {
		w.h.t.Errorf("git push %q: %v\n%s", args, err, out)
	}
	return errGone
}

// publish publishes an event and hears OK.
func (w *contributor) publish(ctx context.Context, c *relayconn.Conn, e *event) error {
	if c.Write(ctx, nostr.AppendEventMsg(nil, e)) != nil {
		return w.lost("publishing")
	}
	for {
		m, err := w.hear(ctx, c)
		if err != nil {
			return err
		}
		if ok, is := m.(nostr.OK); is && ok.ID == e.ID {
			if !ok.OK {
				w.h.t.Errorf("kind %d is answered %q", e.Kind, ok.Reason)
				return errGone
			}
			return nil
		}
	}
}

func (w *contributor) hear(ctx context.Context, c *relayconn.Conn) (nostr.RelayMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	frame, err := c.Read(ctx)
	if err != nil {
		return nil, w.lost("hearing")
	}
	return nostr.ParseRelay(frame)
}

func (w *contributor) lost(what string) error {
	if !w.h.over.Load() {
		w.h.t.Errorf("%s: the connection is lost", what)
	}
	return errGone
}

// ask is what the relay serves that matches. What comes later of an earlier question is no part of it.
func (w *contributor) ask(ctx context.Context, c *relayconn.Conn, f nostr.Filter) (found map[nostr.ID]*event, err error) {
	w.questions++
	sub := fmt.Sprint("q", w.questions)
	if c.Write(ctx, nostr.AppendReq(nil, sub, f)) != nil {
		return nil, w.lost("asking")
	}
	found = map[nostr.ID]*event{}
	for {
		m, err := w.hear(ctx, c)
		if err != nil {
			return nil, err
		}
		switch m := m.(type) {
		case nostr.RelayEvent:
			if m.Sub == sub {
				found[m.Event.ID] = m.Event
			}
		case nostr.EOSE:
			if c.Write(ctx, nostr.AppendClose(nil, sub)) != nil {
				return nil, w.lost("asking")
			}
			return found, nil
		case nostr.Closed:
			w.h.t.Errorf("a request is closed: %s", m.Reason)
			return nil, errGone
		}
	}
}

func (w *contributor) serves(ctx context.Context, c *relayconn.Conn, e *event) (bool, error) {
	found, err := w.ask(ctx, c, nostr.Filter{IDs: []nostr.ID{e.ID}})
	return found[e.ID] != nil, err
}

func (w *contributor) mustServe(ctx context.Context, c *relayconn.Conn, e *event) error {
	served, err := w.serves(ctx, c, e)
	if err == nil && !served {
		w.h.t.Errorf("kind %d is not served when git push has ended", e.Kind)
	}
	return err
}
