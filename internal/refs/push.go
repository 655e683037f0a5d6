package refs

import (
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/gitwire"
	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
)

// Push is the commands of one push in the order in which they came, as the caller read them off the wire.
type Push struct {
	Commands []gitwire.Command
	Refused  bool // there were others, which are refused already
	Atomic   bool // the client wants that all succeed or none
	From     From
	Upload   uint64 // the number that Pending.Begin gave it, 0 before
}

// Standing is what a push is judged by.
type Standing struct {
	Of         nip34.Address      // the repository of the URL
	Members    *grasp.Set         // who decides for it
	Projection Projection         // its refs now
	States     []State            // with its identifier: those that wait, and those that are served and not complete here; others do no harm
	Known      map[nostr.ID]Known // of the events that the push names (Push.Events) those that are served or wait
	Pending    *Pending           // uploads for events that are still to come; nil for none
	Relay      grasp.RelayURL     // where states are to be published
	Now        int64              // seconds since 1970
}

// Known is an event that is served or waits, under an id that a push names. PullRequest is read of kinds 1618 and 1619 only.
type Known struct {
	Kind nostr.Kind
	PullRequest
}

// Events are the ids of the events whose tips a push brings: what Standing.Known is asked for.
func (p Push) Events() []nostr.ID {
	var ids []nostr.ID
	for _, c := range p.Commands {
		if id, err := tipEvent(c.Ref); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// Verdict is what a push may do. What it may not do is refused ref by ref; branches and tags stand or fall together.
type Verdict struct {
	Results      []Result   // of each command
	State        *State     // what the branches and tags come to be by: it is released when the push is complete; nil where none changes
	PullRequests []nostr.ID // events whose tips come: they are released when the push is complete
	Uploads      []Tip      // commits for events that nobody knows yet: they wait beside the repository
	Lines        []string   // what helps whoever pushed, line by line
}

// Result is what becomes of one command. Reason stands beside the ref in the report; None and "" are of one that succeeds.
type Result struct {
	Cause  Cause
	Reason string
}

// Tip is a commit pushed for an event.
type Tip struct {
	Event nostr.ID
	ID    gitwire.ObjectID
}

// Refused reports whether any command is: then the push as a whole counts as failed.
func (v Verdict) Refused() bool {
	return slices.ContainsFunc(v.Results, func(r Result) bool { return r.Cause != None })
}

// Changes reports whether anything is to be done beside telling so.
func (v Verdict) Changes() bool {
	return v.State != nil || len(v.PullRequests) > 0 || len(v.Uploads) > 0
}

// Needs are the objects that have to be complete once the push is: where the commands that succeed lead, without repeats.
func (v Verdict) Needs(p Push) []gitwire.ObjectID {
	var ids []gitwire.ObjectID
	seen := map[gitwire.ObjectID]bool{}
	for i, c := range p.Commands {
		if v.Results[i].Cause == None && !c.New.IsZero() && !seen[c.New] {
			seen[c.New] = true
			ids = append(ids, c.New)
		}
	}
	return ids
}

// Judge says what a push may do. It is asked before the first byte of the pack is read and again before the commit: what
// another push or a fetch has done in between changes nothing for a push that wants the same.
func Judge(in Standing, p Push) Verdict {
	j := &judge{in: in, push: p, say: speech{in.Relay, in.Of, in.Now}}
	j.v.Results = make([]Result, len(p.Commands))
	refs, tipRefs := j.sort()
	j.align(refs)
	j.tips(tipRefs)
	if p.Atomic && (p.Refused || j.v.Refused()) {
		j.fail()
	}
	return j.v
}

// judge is the work on one verdict. Commands stand for their places in the push.
type judge struct {
	in   Standing
	push Push
	say  speech
	v    Verdict
}

// sort gives the commands on branches and tags and those on tips, by name, and refuses all others.
func (j *judge) sort() (refs, tipRefs []int) {
	all := make([]int, len(j.push.Commands))
	for i := range all {
		all[i] = i
	}
	name := func(i int) string { return j.push.Commands[i].Ref }
	slices.SortStableFunc(all, func(a, b int) int { return strings.Compare(name(a), name(b)) })
	for at, i := range all {
		switch {
		case at > 0 && name(all[at-1]) == name(i), at+1 < len(all) && name(all[at+1]) == name(i):
			j.refuse(i, Twice, refusedTwice)
		case grasp.IsContributed(j.in.Of) && !strings.HasPrefix(name(i), tips):
			j.refuse(i, Namespace, refusedContributed)
		case isBranchOrTag(name(i)):
			refs = append(refs, i)
		case strings.HasPrefix(name(i), tips):
			tipRefs = append(tipRefs, i)
		default:
			j.refuse(i, Namespace, refusedNamespace)
		}
	}
	return refs, tipRefs
}

func (j *judge) refuse(i int, c Cause, reason string) { j.v.Results[i] = Result{c, reason} }

// fail refuses what would have succeeded, as the client wants all or nothing.
func (j *judge) fail() {
	for i, r := range j.v.Results {
		if r.Cause == None {
			j.refuse(i, WithOthers, refusedAtomic)
		}
	}
	j.v.State, j.v.PullRequests, j.v.Uploads = nil, nil, nil
}
