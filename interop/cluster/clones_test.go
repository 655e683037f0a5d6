package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// nodeGone is what git says where a node is not there, goes meanwhile, or ends a connection as it begins or ceases to lead.
var nodeGone = regexp.MustCompile(`Connection refused|Failed to connect|Connection reset|Recv failure|Empty reply|early EOF|unexpected disconnect|hung up unexpectedly|transfer closed`)

// tryAgain is what git says where a node has nobody to ask, or the bucket does not answer.
var tryAgain = regexp.MustCompile(`The requested URL returned error: 503|push again in some minutes|this server could not (make the pack|store the push): try again later`)

// behind is what git says where a node that led has not heard yet that another one does, which took a later state.
var behind = regexp.MustCompile(`not as the state|no state event for this push`)

// failure counts what git said at a machine, and requires that one of those that did it was in trouble since.
func (p *people) failure(of *tally, doing string, m *machine, since time.Time, said string, by ...*machine) {
	switch {
	case nodeGone.MatchString(said):
		of.add("cut off")
	case tryAgain.MatchString(said):
		of.add("told to try again")
	case behind.MatchString(said):
		of.add("judged by an older state")
	default:
		of.add("wrong")
		p.t.Errorf("%s at %s: %s", doing, p.letter(m), said)
		return
	}
	if !p.troubled(since, by...) {
		p.t.Errorf("%s at %s, where all was well: %s", doing, p.letter(m), said)
	}
}

// pushesTo pushes commits to random nodes until ctx ends. Nobody else pushes to any of the repositories.
func (p *people) pushesTo(ctx context.Context, n int, of ...*repository) {
	dice := rand.New(rand.NewPCG(uint64(n), 4))
	for ctx.Err() == nil {
		p.push(ctx, dice, of[dice.IntN(len(of))])
		time.Sleep(100 * time.Millisecond)
	}
}

// push makes a commit and pushes it, once.
func (p *people) push(ctx context.Context, dice *rand.Rand, r *repository) {
	tip, state, ok := r.commit(ctx, p.t)
	if !ok || p.publishes(ctx, dice, state) == nil {
		return
	}
	m := p.pick(dice, writesAnywhere)
	if m == nil {
		return
	}
	begun := time.Now()
	said, err := git(ctx, r.dir, "push", "-q", r.url(m), "main")
	switch {
	case err == nil:
		r.said, r.pushed = tip, r.pushed+1
		p.took(m, r, int(r.made))
		p.pushing.good("ok", time.Since(begun))
	case ctx.Err() == nil:
		p.failure(p.pushing, "push", m, begun, said, p.machines...) // the one that leads takes it

	}
}

// took notes that a machine took a commit.
func (p *people) took(m *machine, r *repository, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read[m.listen+r.d] = n
}

// clones clones at random nodes until ctx ends. What comes has all that the node took before.
func (p *people) clones(ctx context.Context, n int, of ...*repository) {
	dice := rand.New(rand.NewPCG(uint64(n), 5))
	for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		if m := p.pick(dice, clonesAnywhere); m != nil {
			p.clone(ctx, m, of[dice.IntN(len(of))])
		}
	}
}

func (p *people) clone(ctx context.Context, m *machine, r *repository) {
	dir := filepath.Join(p.t.TempDir(), "clone")
	defer os.RemoveAll(dir)
	p.mu.Lock()
	least := p.read[m.listen+r.d]
	p.mu.Unlock()
	begun := time.Now()
	said, err := git(ctx, r.dir, "clone", "-q", r.url(m), dir)
	if err != nil {
		if ctx.Err() == nil {
			p.failure(p.cloning, "clone", m, begun, said, m)
		}
		return
	}
	p.cloning.good("whole", time.Since(begun))
	if out, err := git(ctx, dir, "fsck", "--full"); err != nil && ctx.Err() == nil {
		p.t.Errorf("clone at %s: %v: %s", p.letter(m), err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "file"))
	if err != nil {
		p.t.Errorf("clone at %s: %v", p.letter(m), err)
		return
	}
	var d string
	var got int
	if _, err := fmt.Sscan(string(text), &d, &got); err != nil || d != r.d || got < least {
		p.t.Errorf("clone at %s: %q, where it took commit %d of %s (%v)", p.letter(m), text, least, r.d, err)
	}
}
