package refdb

import (
	"maps"
	"slices"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// inBatch notes what the open batch has done so far to events that concern repositories.
type inBatch struct {
	touched map[string]*touched // by identifier
	order   []string            // the identifiers, in the order in which they were touched
	came    []refs.PullRequest  // accepted in this batch, served or waiting
	filed   []filing
	begun   []uint64        // uploads
	expires bool            // uploads whose time is over go with the commit
	stirred map[string]bool // identifiers of repositories that may lack something else now

	peeled map[gitwire.ObjectID]gitwire.ObjectID // the objects to which annotated tags that came lead

	notes int // how often something was noted
}

// filing is an upload whose push ends with the open batch.
type filing struct {
	upload uint64
	tips   []refs.Tip
}

// touched notes what the open batch has added and removed under one identifier.
type touched struct {
	states  []refs.State       // served since the batch began
	tips    []refs.PullRequest // served since the batch began
	gone    []nostr.ID         // pull requests that are served no more
	anew    bool               // Settle looks at all states
	authors []nostr.PubKey     // owners with a changed announcement, or with new objects in their repository: Settle looks at all states in which they have a say
	owners  []nostr.PubKey     // owners whose repository Settle looks at, with an announcement or without

	contributed []nip34.Address // contributed repositories that had anything come or go
}

// reset begins the next batch.
func (r *inBatch) reset() { *r = inBatch{touched: map[string]*touched{}, stirred: map[string]bool{}} }

// touch returns what the batch has done to an identifier, and makes Settle look at the repositories with that identifier.
func (r *inBatch) touch(d string) *touched {
	r.stir(d)
	t := r.touched[d]
	if t == nil {
		t = &touched{}
		r.touched[d] = t
		r.order = append(r.order, d)
	}
	return t
}

// owner makes Settle look at somebody's repository, though they may have no announcement any more.
func (x *touched) owner(pk nostr.PubKey) {
	x.author(pk)
	if !slices.Contains(x.owners, pk) {
		x.owners = append(x.owners, pk)
	}
}

// author makes Settle look at all states of the repositories in which somebody has a say.
func (x *touched) author(pk nostr.PubKey) {
	if !slices.Contains(x.authors, pk) {
		x.authors = append(x.authors, pk)
	}
}

// renews reports whether Settle looks at all states of somebody's repository: others may be members than before, or other states complete. Whoever
// comes is a member or invited then. Whoever leaves is invited, unless they decline.
func (x *touched) renews(c *grasp.Councils, owner nostr.PubKey) bool {
	set := c.Of(owner)
	return x.anew || slices.ContainsFunc(x.authors, func(pk nostr.PubKey) bool { return set.Has(pk) || set.HasInvited(pk) || c.Declines(pk) })
}

// concerns reports whether anything of somebody's repository may be different now.
func (x *touched) concerns(f *family, owner nostr.PubKey) bool {
	members, of := f.servedCouncils.Of(owner), f.repository(owner)
	return slices.Contains(x.owners, owner) || x.renews(f.servedCouncils, owner) ||
		slices.ContainsFunc(x.states, func(s refs.State) bool { return members.Has(s.Author) }) ||
		slices.ContainsFunc(x.tips, func(p refs.PullRequest) bool { return p.Names(of) })
}

// touchTip makes Settle look at the repositories that a served pull request names.
func (r *inBatch) touchTip(p refs.PullRequest) {
	for _, of := range p.Repositories {
		x := r.touch(of.D)
		x.tips = append(x.tips, p)
	}
}

// write puts the row of a repository into the open batch.
func (r *inBatch) write(t Turn, x Repository, moved bool) error {
	return x.Write(t.Batch, moved)
}

// peeledOf returns, as far as the ledger knows, the objects to which the annotated tags among the refs lead.
func (r *inBatch) peeledOf(before Repository, p refs.Projection) map[gitwire.ObjectID]gitwire.ObjectID {
	var out map[gitwire.ObjectID]gitwire.ObjectID
	for _, ref := range p.Refs {
		to, ok := r.peeled[ref.ID]
		if !ok {
			to, ok = before.Peeled[ref.ID]
		}
		if ok {
			if out == nil {
				out = map[gitwire.ObjectID]gitwire.ObjectID{}
			}
			out[ref.ID] = to
		}
	}
	return out
}

// peel notes the objects to which annotated tags that came lead.
func (r *inBatch) peel(tags map[gitwire.ObjectID]gitwire.ObjectID) {
	if r.peeled == nil {
		r.peeled = map[gitwire.ObjectID]gitwire.ObjectID{}
	}
	maps.Copy(r.peeled, tags)
	r.notes++
}

// stir notes an identifier whose repositories may lack something else now.
func (r *inBatch) stir(d string) {
	r.stirred[d] = true
	r.notes++
}

// come notes a pull request or an update that was accepted, as uploads may have waited for it.
func (r *inBatch) come(p refs.PullRequest) {
	r.came = append(r.came, p)
	r.notes++
}

// file notes an upload whose push ends with the batch, with the tips that stay; 0 is none.
func (r *inBatch) file(upload uint64, tips []refs.Tip) {
	if upload == 0 {
		return
	}
	r.filed = append(r.filed, filing{upload, tips})
	r.notes++
}

// begin notes an upload that began in the open batch.
func (r *inBatch) begin(upload uint64) {
	r.begun = append(r.begun, upload)
	r.notes++
}

// expire has the uploads go whose time is over, after those that are found by what the batch brings.
func (r *inBatch) expire() {
	r.expires = true
	r.notes++
}
