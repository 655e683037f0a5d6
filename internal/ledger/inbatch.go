package ledger

import (
	"maps"
	"slices"

	"github.com/graspd/graspd/internal/gitwire"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/refs"
)

// inBatch is what the open batch has done so far to events that concern repositories.
type inBatch struct {
	touched map[string]*touched // by identifier
	order   []string            // the identifiers, in the order in which they were touched
	changed []nip34.Address     // rows that were written
	came    []refs.PullRequest  // accepted, or waiting since
	filed   []filing
	stirred map[string]bool // identifiers

	peeled map[gitwire.ObjectID]gitwire.ObjectID // of annotated tags that came
}

// filing is an upload whose push ends with the batch.
type filing struct {
	upload uint64
	tips   []refs.Tip
}

// touched is what the open batch has added and removed of one identifier.
type touched struct {
	states  []refs.State       // served since
	tips    []refs.PullRequest // served since
	gone    []nostr.ID         // pull requests that are served no more
	members bool               // who decides, or which states are complete, may have changed: all states are looked at
	owners  []nostr.PubKey     // whose repository is looked at, announcement or not

	contributed []nip34.Address // contributed repositories of which something has come or gone
}

// reset begins the next batch.
func (r *inBatch) reset() { *r = inBatch{touched: map[string]*touched{}, stirred: map[string]bool{}} }

// touch gives what the batch has done to an identifier, and has Settle look at the repositories with that identifier.
func (r *inBatch) touch(d string) *touched {
	r.stirred[d] = true
	t := r.touched[d]
	if t == nil {
		t = &touched{}
		r.touched[d] = t
		r.order = append(r.order, d)
	}
	return t
}

// owner notes somebody whose repository is to be looked at, though they may have no announcement any more.
func (x *touched) owner(pk nostr.PubKey) {
	x.members = true
	if !slices.Contains(x.owners, pk) {
		x.owners = append(x.owners, pk)
	}
}

// touchTip has Settle look at the repositories that a served pull request names.
func (r *inBatch) touchTip(p refs.PullRequest) {
	for _, of := range p.Repositories {
		x := r.touch(of.D)
		x.tips = append(x.tips, p)
	}
}

// write puts the row of a repository into the open batch.
func (r *inBatch) write(t Turn, x Repository, moved bool) error {
	if err := x.Write(t.Batch, moved); err != nil {
		return err
	}
	if !slices.Contains(r.changed, x.Of) {
		r.changed = append(r.changed, x.Of)
	}
	return nil
}

// peeledOf gives the objects that the annotated tags among the refs lead to, as far as they are known.
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

// peel notes which objects annotated tags that came lead to.
func (r *inBatch) peel(tags map[gitwire.ObjectID]gitwire.ObjectID) {
	if r.peeled == nil {
		r.peeled = map[gitwire.ObjectID]gitwire.ObjectID{}
	}
	maps.Copy(r.peeled, tags)
}

// stir notes an identifier whose repositories may lack something else now.
func (r *inBatch) stir(d string) { r.stirred[d] = true }

// come notes a pull request or an update that was accepted, as uploads may have waited for it.
func (r *inBatch) come(p refs.PullRequest) { r.came = append(r.came, p) }

// file notes an upload whose push ends with the batch, with the tips that stay.
func (r *inBatch) file(upload uint64, tips []refs.Tip) {
	r.filed = append(r.filed, filing{upload, tips})
}
