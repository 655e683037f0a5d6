package plan

import (
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/refusal"
	"github.com/graspd/graspd/internal/want"
)

// Some relays refuse filters that name no kinds, and some answer them with
// nothing and say nothing. For such a relay kinds are added to all of them, until
// the next full resync. A refusal is believed to be about kinds only when what
// is asked with kinds is answered; silence is noticed by asking once more, with
// kinds, for what a filter without kinds brought nothing of, until any filter
// without kinds has brought something.

// kindsMode says which kinds are added to filters that name none.
type kindsMode uint8

const (
	kindsNone    kindsMode = iota // none
	kindsAll                      // all that the NIPs around repositories use
	kindsNoNotes                  // without kind 1, which some relays give by author only
	kindsFew                      // ten, as some relays bear no more
)

// kinding is what is known of a relay about filters without kinds.
type kinding struct {
	mode     kindsMode
	settled  bool // it answers in this mode
	noVanish bool // it refuses to be asked for requests to vanish
	emptied  bool // it answers filters without kinds with nothing, and live ones never
}

// naming are the kinds that name repositories and their root events, notes first.
var naming = []nostr.Kind{nostr.KindNote, nostr.KindDeletion, nostr.KindReaction, nostr.KindComment, nip34.KindPatch, nip34.KindPullRequest,
	nip34.KindPullRequestUpdate, nip34.KindIssue, nip34.KindReplyOld, nip34.KindCoverNote, nip34.KindStatusOpen, nip34.KindStatusApplied,
	nip34.KindStatusClosed, nip34.KindStatusDraft, nostr.KindLabel, nostr.KindZap}

var addedKinds = [...][]nostr.Kind{
	kindsNone:    nil,
	kindsAll:     naming,
	kindsNoNotes: naming[1:],
	kindsFew: {nostr.KindDeletion, nostr.KindComment, nip34.KindPatch, nip34.KindPullRequest, nip34.KindPullRequestUpdate,
		nip34.KindIssue, nip34.KindStatusOpen, nip34.KindStatusApplied, nip34.KindStatusClosed, nip34.KindStatusDraft},
}

// with returns f with the kinds of m, if it has none.
func (m kindsMode) with(f nostr.Filter) nostr.Filter {
	if f.Kinds == nil {
		f.Kinds = addedKinds[m]
	}
	return f
}

// moreKinds handles a refusal of a filter without kinds of its own, which was
// sent in a mode. It reports whether it is to be asked again at once, in another one.
func (p *Peer) moreKinds(sent kindsMode, text string) bool {
	k := &p.kinds
	switch {
	case !demandsKinds(text):
		return false
	case sent != k.mode:
		return true
	case (k.mode == kindsAll || k.mode == kindsNoNotes) && strings.Contains(refusal.Normal(text), "too many kinds"):
		k.mode, k.settled = kindsFew, k.emptied
	case k.mode == kindsAll:
		k.mode, k.settled = kindsNoNotes, k.emptied
	case k.settled:
		return false
	case k.mode == kindsNone:
		k.mode = kindsAll
	default:
		k.mode, k.settled = kindsNone, true // kinds are not what it is about
		return false
	}
	return true
}

// demandsKinds says whether a refusal may be for want of kinds, or for those named.
func demandsKinds(text string) bool { return strings.Contains(refusal.Normal(text), "kind") }

// kindsAnswered notes that a request was answered: with kinds added that proves
// that they are of use.
func (p *Peer) kindsAnswered(r *request) {
	if r.task != nil && r.task.filter.Kinds != nil {
		return // it was asked by id, with kinds of its own
	}
	if k := &p.kinds; r.kindless && r.mode != kindsNone && r.mode == k.mode && !k.settled {
		k.settled = true
		p.report(Info, "relay refuses filters without kinds, they are added")
	}
}

// kindsNotNeeded notes an event that a stored filter without kinds brought: it is
// proof that none are needed.
func (p *Peer) kindsNotNeeded(r *request) {
	if r.kind == asksPage && r.kindless && r.mode == kindsNone && p.kinds.mode == kindsNone {
		p.kinds.settled = true
	}
}

// doubtful says whether nothing came for a filter without kinds and nothing
// shows yet that the relay answers such filters. One with NIP-77 is not doubted,
// and in layer 4 there is mostly nothing.
func (p *Peer) doubtful(t *task) bool {
	return t.group.layer != want.LayerReferences && t.filter.Kinds == nil && !t.doubted &&
		(p.neg == negRefused || p.pagesOnly()) && t.neg == nil && t.pager.events == 0 && p.kinds == (kinding{noVanish: p.kinds.noVanish})
}

// kindsProbed is how many events are asked for to see whether there are any.
const kindsProbed = 5

// doubt asks with kinds for a few events of what brought nothing without.
func (p *Peer) doubt(t *task) {
	f := span{since: t.group.since, until: forever}.narrow(kindsAll.with(t.filter))
	f.Limit = new(kindsProbed)
	p.request(t, asksKinds, f)
}

// kindsEmptied adds kinds for a relay that silently answers nothing without:
// nothing that it was asked so far counts, and what is live is not.
func (p *Peer) kindsEmptied() {
	p.kinds = kinding{mode: kindsAll, settled: true, emptied: true, noVanish: p.kinds.noVanish}
	p.report(Info, "relay answers filters without kinds with nothing, they are added")
	p.unprove()
	p.recatch(Catchup)
	for _, w := range p.conn.waiting {
		w.apart = p.apart(w.lot)
	}
}

// outdated says whether a live REQ does not bring what it asks for, or less than it could.
func (k *kinding) outdated(l *liveReq) bool {
	if k.emptied {
		bare := func(x lot) bool { return x.layer == want.LayerAnnouncements && x.apart != apartBare }
		return l.kindless && l.mode == kindsNone || slices.ContainsFunc(l.lots, bare)
	}
	return k.settled && k.mode == kindsNone && l.kindless && l.mode != kindsNone
}

// tendKinds opens live REQs again that were opened without the kinds that a relay
// needs, or with kinds that it does not.
func (p *Peer) tendKinds() {
	c, outdated := p.conn, p.kinds.outdated
	p.cancelMergeOf(outdated)
	for i := slices.IndexFunc(c.following.live, outdated); i >= 0; i = slices.IndexFunc(c.following.live, outdated) {
		l := c.following.live[i]
		p.closeLive(l)
		p.requeue(l.lots, p.now.Wall, 0, 0)
	}
}
