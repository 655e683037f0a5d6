package refs

import (
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Push has the commands of one push in the order in which they came.
type Push struct {
	Commands []gitwire.Command
	Order    []int // the indices of Commands as OrderOf returns them, which is work to do beside the writer; nil where nobody has sorted yet
	Refused  bool  // the caller has refused other commands of the push
	Atomic   bool  // the client wants all commands to succeed, or none
	From     From
	Upload   uint64 // the number that Pending.Begin gave it, 0 before

	// Named has those of Events that were served or waited a moment ago; nil where nobody has looked.
	Named map[nostr.ID]Known
}

// OrderOf returns the indices of commands by the names of their refs. Any goroutine may call it, and does so beside the writer, as a push may
// have many.
func OrderOf(commands []gitwire.Command) []int {
	order := make([]int, len(commands))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(commands[a].Ref, commands[b].Ref) })
	return order
}

// Standing is what Judge judges a push by.
type Standing struct {
	Of         nip34.Address      // the repository of the URL
	Members    *grasp.Set         // who decides for that repository
	Projection Projection         // its refs now
	States     []State            // with its identifier: those that wait, and those that are served and not complete here; others do no harm
	Known      map[nostr.ID]Known // of the events that the push names (Push.Events) those that are served or wait
	Pending    *Pending           // uploads for events that are still to come; nil for none
	Relay      grasp.RelayURL     // where people publish states
	Now        int64              // seconds since 1970
}

// Known is an event that is served or waits, under an id that a push names. PullRequest is set for kinds 1618 and 1619 only.
type Known struct {
	Kind nostr.Kind
	PullRequest
}

// Events returns the ids of the events whose tips a push brings. The caller looks these events up for Standing.Known.
func (p Push) Events() []nostr.ID {
	var ids []nostr.ID
	for _, c := range p.Commands {
		if id, err := tipEvent(c.Ref); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// Verdict says what a push may do. Judge refuses refs one by one, but branches and tags stand or fall together.
type Verdict struct {
	Results      []Result   // of each command
	State        *State     // the state that the branches and tags come to be as; released when the push is complete; nil where none changes
	PullRequests []nostr.ID // events whose tips come: they are released when the push is complete
	Uploads      []Tip      // commits for events that nobody knows yet: they wait beside the repository
	Lines        []string   // what to tell the pusher besides the results, line by line
}

// Result says what becomes of one command: None and "" where it succeeds. git's report has Reason beside the ref.
type Result struct {
	Cause  Cause
	Reason string
}

// Tip is a commit that somebody pushed for an event.
type Tip struct {
	Event nostr.ID
	ID    gitwire.ObjectID
}

// Refused reports whether Judge refused any command, so that the push as a whole counts as failed.
func (v Verdict) Refused() bool {
	return slices.ContainsFunc(v.Results, func(r Result) bool { return r.Cause != None })
}

// Unexplained reports whether branches or tags are refused because no state is as the push would leave them. Then the states of others tell
// the pusher more.
func (v Verdict) Unexplained() bool {
	return slices.ContainsFunc(v.Results, func(r Result) bool {
		return r.Cause == NoState || r.Cause == OtherState || r.Cause == FlawedState || r.Cause == OlderState
	})
}

// Changes reports whether the push changes a ref or leaves an upload.
func (v Verdict) Changes() bool {
	return v.State != nil || len(v.PullRequests) > 0 || len(v.Uploads) > 0
}

// Needs returns the objects to which the commands that succeed lead, each once. All of them have to be complete before the commit.
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

// Judge says what a push may do. The caller asks before reading the first byte of the pack, and again before the commit. Where another push
// or a fetch has done the same in between, the push still succeeds.
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

// judge is the work on one verdict. Its methods name a command by its index in the push.
type judge struct {
	in   Standing
	push Push
	say  speech
	v    Verdict
}

// sort returns the commands on branches and tags and the commands on tips, each by name. It refuses all others.
func (j *judge) sort() (refs, tipRefs []int) {
	all := j.push.Order
	if all == nil {
		all = OrderOf(j.push.Commands)
	}
	name := func(i int) string { return j.push.Commands[i].Ref }
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

// fail refuses the commands that would have succeeded, as the client wants all or nothing.
func (j *judge) fail() {
	for i, r := range j.v.Results {
		if r.Cause == None {
			j.refuse(i, WithOthers, refusedAtomic)
		}
	}
	j.v.State, j.v.PullRequests, j.v.Uploads = nil, nil, nil
}
