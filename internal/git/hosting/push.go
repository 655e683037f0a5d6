package hosting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
)

// push is one push on its way. It is judged, received and proven beside the repository, judged again with the commit, and then shown.
type push struct {
	h      *Host
	call   githttp.PushCall
	refs   refs.Push
	opened refdb.Opened

	extended time.Time // when the waits that it ends were last prolonged
	counted  int64     // bytes of it that its uploads were last counted with
	held     bool      // its quarantine waits for events from now on
	landed   bool      // what it brought is in the repository
	bytes    int64     // of the objects that it brought, on disk
}

// Push does all of a push but HTTP. When it returns, the events that waited for it are durable and served, and the files of refs are written.
func (h *Host) Push(ctx context.Context, c githttp.PushCall) githttp.PushResult {
	p := &push{h: h, call: c, refs: refs.Push{
		Commands: c.Push.Commands, Refused: len(c.Push.Invalid) > 0, Atomic: c.Push.Atomic, From: refs.From{Address: c.From, Network: c.Network},
	}}
	h.counts.pushing.Add(1)
	defer h.counts.pushing.Add(-1)
	began := h.cfg.Now()
	verdict, err := p.do(ctx)
	result := p.result(verdict, err)
	p.tell(began, verdict, result, err)
	h.counts.pushed(verdict, err)
	h.refused(c.Of, result, err)
	if err != nil || verdict.Refused() {
		select {
		case h.failed <- c.Of:
		default:
		}
	}
	if err != nil && !told(err) {
		h.cfg.Logger.Error("push failed", "repository", c.Of.String(), "error", err)
	}
	return result
}

func (p *push) do(ctx context.Context) (refs.Verdict, error) {
	done, err := p.look(ctx)
	if err == nil && !done {
		err = p.turn(ctx, func(t *ingest.Exclusive) (err error) {
			p.opened, err = p.h.ledger.Open(t.Turn, p.call.Of, p.refs)
			return err
		})
	}
	if err != nil {
		return refs.Verdict{}, err
	}
	if !p.opened.Known {
		return refs.Verdict{}, reason{Gone, "the repository is gone: publish its announcement again"}
	}
	p.refs.Upload, p.extended = p.opened.Upload, p.h.cfg.Now()
	if !p.opened.Changes() {
		return p.opened.Verdict, nil
	}
	verdict, err := p.carry(ctx)
	err = p.shallow(err)
	if p.refs.Upload != 0 && !p.held {
		err = errors.Join(err, p.turn(context.WithoutCancel(ctx), func(*ingest.Exclusive) error { p.h.ledger.Drop(p.refs.Upload); return nil }))
	}
	return verdict, err
}

// look does beside the writer what needs no turn of it: it refuses pushes to what is closed, sorts the commands, looks up the events that they name,
// and judges the push. It reports whether that is all, so that no turn is needed before the pack is read.
func (p *push) look(ctx context.Context) (done bool, err error) {
	end, err := p.longTurn(ctx)
	if err != nil {
		return false, err
	}
	defer end()
	p.refs.Order = refs.OrderOf(p.refs.Commands)
	return done, p.h.reading(func(r *refdb.Reader) (err error) {
		if err := p.closed(r); err != nil {
			return err
		}
		if p.refs.Named, err = p.h.ledger.Named(r, p.refs); err != nil {
			return err
		}
		p.opened, done, err = r.Open(p.call.Of, p.refs)
		return err
	})
}

// toldElsewhere is how many other servers a refusal names to push to.
const toldElsewhere = 3

// closed refuses a push to a repository that is only archived, where Config.Closed says so.
func (p *push) closed(r *refdb.Reader) error {
	if !p.h.cfg.Closed {
		return nil
	}
	is, elsewhere, err := r.Archived(p.call.Of)
	if err != nil || !is {
		return err
	}
	text := "this server archives the repository and takes no pushes to it"
	for i, s := range elsewhere[:min(len(elsewhere), toldElsewhere)] {
		text += map[bool]string{true: ": push to ", false: " or "}[i == 0] + string(s)
	}
	return reason{Archived, text}
}

// fewCommands is how many commands a push may have that is worked on at once and whose turns of the writer are short.
const fewCommands = 64

// newLong is the account of work on long pushes: as much at once as there are half of the processors, so that the rest is for others.
func newLong(now func() time.Time) *fair.Account {
	return fair.New(fair.Config{Name: "long pushes", Total: int64(max(1, runtime.GOMAXPROCS(0)/2)), Most: time.Minute, Places: 256, PlacesOne: 16, Now: now})
}

// longTurn waits until a long push may be worked on. The caller does not wait for the client before it calls end.
func (p *push) longTurn(ctx context.Context) (end func(), err error) {
	if len(p.refs.Commands) <= fewCommands {
		return func() {}, nil
	}
	party := fair.Party{Address: p.call.From, Network: p.call.Network, Owner: p.call.Of.PubKey.String()}
	g, err := p.h.long.Wait(ctx, party, 1)
	if err != nil {
		if _, full := errors.AsType[fair.Refusal](err); full {
			err = gitproc.ErrBusy
		}
		return nil, err
	}
	began := p.h.cfg.Now()
	return func() {
		p.h.long.Charge(party, p.h.cfg.Now().Sub(began))
		g.GiveBack()
	}, nil
}

// turn has the writer do work for what a push of a party brings. nil is what came otherwise, for a state of any size.
func (h *Host) turn(ctx context.Context, party string, p *refs.Push, work func(*ingest.Exclusive) error) error {
	if p == nil || len(p.Commands) > fewCommands {
		return h.door.AtLength(ctx, party, work)
	}
	return h.door.Exclusively(ctx, party, work)
}

func (p *push) turn(ctx context.Context, work func(*ingest.Exclusive) error) error {
	return p.h.turn(ctx, p.call.Network, &p.refs, work)
}

// shallow adds what to do to an error about missing objects, where the client's clone is shallow. git pushes everything that such a clone has,
// which is enough where the older history is here.
func (p *push) shallow(err error) error {
	var missing *gitrepo.MissingError
	if len(p.call.Push.Shallows) == 0 || !errors.As(err, &missing) {
		return err
	}
	return reason{ShallowClone, fmt.Sprintf("the clone that you push from is shallow, and what comes before it is not here (such as %s): run git fetch --unshallow in it, then push again",
		missing.IDs[0])}
}

// carry receives, proves and lands the commands that are allowed.
func (p *push) carry(ctx context.Context) (v refs.Verdict, err error) {
	if len(p.opened.Uploads) > 0 && (p.opened.State != nil || len(p.opened.PullRequests) > 0) {
		return v, reason{Mixed, "push commits for events that are still to come on their own, as nobody has signed for them yet"}
	}
	if err := p.h.room(ctx, p.opened.Repository); err != nil {
		return v, err
	}
	giveBack, err := p.h.newcomers.take(p.h.cfg.Now(), p.newcomers(), "push this one")
	if err != nil {
		return v, err
	}
	defer func() {
		if !p.landed && !p.held {
			giveBack()
		}
	}()
	if err := p.h.cfg.Kept.bring(ctx, p.opened.Repository.Dir, p.call.Network, p.call.Progress); err != nil {
		return v, err
	}
	q, err := p.h.cfg.Disk.Begin(gitrepo.ID(p.opened.Repository.Dir))
	if err != nil {
		return v, err
	}
	reading, disk := begin(ctx, p.h.unfinished, fair.Party{Address: p.call.From, Network: p.call.Network, Owner: p.call.Of.PubKey.String()}, p.call.Yield)
	defer func() {
		if !p.held {
			err = errors.Join(err, q.Close())
			disk.GiveBack()
		}
	}()
	if p.call.Push.NeedsPack() {
		pack := &incoming{from: p.call.Pack}
		_, err := q.Receive(reading, pack, p.receiving(reading, disk))
		if err = disk.read(reading, err); err != nil {
			return v, pack.blame(err)
		}
	}
	end, err := p.longTurn(ctx)
	if err != nil {
		return v, err
	}
	defer end()
	proof, err := q.Prove(ctx, p.proving())
	if err != nil {
		return v, p.naming(err)
	}
	p.bytes = proof.Bytes
	if err := p.h.fits(ctx, p.opened.Repository, proof.Bytes); err != nil {
		return v, err
	}
	disk.Shrink(q.Bytes()) // nobody writes a second copy any more
	if p.refs.Upload != 0 {
		v, err := p.hold(ctx, q, disk)
		if !errors.Is(err, errSigned) {
			return v, err
		}
		if len(p.opened.Uploads) > 1 {
			return v, reason{Mixed, "an event came while you pushed: push again"}
		}
	}
	return p.land(ctx, q, proof)
}

func (p *push) receiving(ctx context.Context, disk unfinished) gitrepo.Receiving {
	l := p.h.quotas.limits.Load()
	return gitrepo.Receiving{MaxBytes: l.Push, MaxObjects: l.Objects, Party: p.call.Network, Owner: p.call.Of.PubKey.String(), Whole: disk.whole, Grown: func(n int64) error {
		if err := disk.cover(ctx, n); err != nil {
			return err
		}
		return p.grown(ctx, n)
	}}
}

// tellEvery is how many bytes come between two checks of the bounds of uploads.
const tellEvery = 4 << 20

// newcomers returns who needs an allowance for the repository that the push begins; nobody where it is here already.
func (p *push) newcomers() []newcomer {
	owner := p.call.Of.PubKey
	if !p.opened.Repository.Dir.IsZero() || p.call.Operator || p.h.trusts(owner) {
		return nil
	}
	return newcomersOf(p.refs.From, owner.String())
}

// grown prolongs the waits that the push is to end, and keeps its uploads within their bounds.
func (p *push) grown(ctx context.Context, bytes int64) error {
	late := p.h.cfg.Now().Sub(p.extended) > time.Minute
	more := p.refs.Upload != 0 && bytes-p.counted >= tellEvery
	if !late && !more {
		return nil
	}
	p.extended, p.counted = p.h.cfg.Now(), bytes
	var cause refs.Cause
	err := p.turn(ctx, func(t *ingest.Exclusive) error {
		cause = p.h.ledger.Resize(p.refs.Upload, bytes)
		return p.h.ledger.Extend(t.Turn, p.opened)
	})
	return errors.Join(err, noRoomFor(cause))
}

func noRoomFor(c refs.Cause) error {
	if c == refs.None {
		return nil
	}
	return reason{PendingFull, c.Room()}
}

func (p *push) proving() gitrepo.Proving {
	r := p.opened.Repository.Refs
	out := gitrepo.Proving{Haves: r.All().IDs(), Party: p.call.Network}
	for i, c := range p.refs.Commands {
		switch {
		case c.New.IsZero() || p.opened.Results[i].Cause != refs.None:
		case refs.IsTag(c.Ref):
			out.Tips = append(out.Tips, c.New)
		default:
			out.Commits = append(out.Commits, c.New)
		}
	}
	return out
}

// incoming is a pack as a client sends it.
type incoming struct {
	from io.Reader
	err  error // why it did not come to its end
}

func (in *incoming) Read(b []byte) (int, error) {
	n, err := in.from.Read(b)
	if err != nil && err != io.EOF {
		in.err = err
	}
	return n, err
}

// blame returns err, or that the client did not send the whole pack where that is why.
func (in *incoming) blame(err error) error {
	if in.err == nil || !errors.Is(err, in.err) {
		return err
	}
	return reason{Left, "the pack cannot be read to its end: " + in.err.Error()}
}

// naming says of which ref an object was to be that is no commit.
func (p *push) naming(err error) error {
	wrong, is := errors.AsType[*gitrepo.PackError](err)
	if !is || wrong.NotCommit.IsZero() {
		return err
	}
	for _, c := range p.refs.Commands {
		if c.New != wrong.NotCommit || refs.IsTag(c.Ref) {
			continue
		}
		as := "is a branch"
		if refs.IsTip(c.Ref) {
			as = "is at the commit that its event names"
		}
		return reason{BadPack, fmt.Sprintf("%s, as %s %s: push %[4]s^{commit}", wrong.Text, c.Ref, as, c.New)}
	}
	return err
}

// errSigned ends a turn of the writer that finds that an upload's event has come meanwhile.
var errSigned = errors.New("the events of an upload have come")

// hold leaves the uploads of the push in their quarantine until their events come.
func (p *push) hold(ctx context.Context, q gitrepo.Quarantine, disk unfinished) (refs.Verdict, error) {
	var arrived refdb.Arrived
	kept, err := p.holding(ctx, q)
	if err != nil {
		return refs.Verdict{}, err
	}
	defer kept.done()
	if !p.h.uploads.put(p.refs.Upload, &upload{of: p.call.Of, q: q, tips: p.opened.Uploads, party: p.call.Network, disk: disk, row: kept.name()}, p.h.heldMost) {
		return refs.Verdict{}, noRoomFor(refs.PendingAll)
	}
	err = p.turn(ctx, func(t *ingest.Exclusive) (err error) {
		if err := noRoomFor(p.h.ledger.Resize(p.refs.Upload, q.Bytes())); err != nil {
			return err
		}
		arrived, err = p.h.ledger.Arrive(t.Turn, refdb.Arrival{Of: p.call.Of, Push: &p.refs, Admit: func(refdb.Dir) error { return errSigned }})
		if err == nil {
			err = kept.hold(t, p.h.ledger, arrived.Uploads)
		}
		return err
	})
	p.held = err == nil && len(arrived.Uploads) > 0
	if !p.held {
		p.h.uploads.take(p.refs.Upload)
	}
	return arrived.Verdict, err
}

// land moves the proven objects into the repository, in one commit with the log.
func (p *push) land(ctx context.Context, q gitrepo.Quarantine, proof gitrepo.Proof) (v refs.Verdict, err error) {
	p.call.Progress("everything is here and proven; committing")
	// The jobs that follow the commit ask who pays.
	undo := p.h.payers.pushed(p.call.Of, p.call.Network)
	peeled := peeledOf(p.proving().Tips, proof) // the proof knows nothing of other tags that the state names
	v, err = p.h.arrive(ctx, p.call.Network, refdb.Arrival{Of: p.call.Of, Push: &p.refs, Peeled: peeled, Bytes: proof.Bytes}, q)
	if p.landed = err == nil && (v.State != nil || len(v.PullRequests) > 0); !p.landed {
		undo()
	}
	if err != nil {
		return v, err
	}
	return v, p.show(ctx)
}

// show returns when every client sees what the push has done, or when the client has left. The commit holds then too, and the jobs that it queued
// do what is left.
func (p *push) show(ctx context.Context) error {
	follow := p.h.align
	if grasp.IsContributed(p.call.Of) {
		follow = p.h.mirror
	}
	err := p.h.project(ctx, p.call.Of)
	if err == nil {
		_, err = follow(ctx, p.call.Of, copier{party: p.call.Network, linked: true})
	}
	if ctx.Err() != nil || errors.Is(err, gitproc.ErrBusy) || postponed(err) { // the job that follows the commit copies what is not copied yet
		return nil
	}
	return err
}

// told reports whether an error tells the client what is wrong with their push.
func told(err error) bool {
	return hopeless(err) || postponed(err) || errors.Is(err, gitproc.ErrBusy) || errors.Is(err, context.Canceled) || errors.Is(err, io.ErrUnexpectedEOF)
}

// hopeless reports whether a second try would fail in the same way.
func hopeless(err error) bool {
	var r reason
	var pack *gitrepo.PackError
	var missing *gitrepo.MissingError
	return errors.As(err, &r) && !postponed(err) || errors.As(err, &pack) || errors.As(err, &missing)
}

// result makes the answer to the client.
func (p *push) result(v refs.Verdict, err error) githttp.PushResult {
	if err != nil {
		text := reasonOf(err).text
		return githttp.PushResult{Unpack: text, Outcomes: p.call.Push.RefuseAll(text), Lines: v.Lines, Costly: gitrepo.Costly(err)}
	}
	out := githttp.PushResult{Lines: v.Lines}
	for i, c := range p.call.Push.Commands {
		out.Outcomes = append(out.Outcomes, gitwire.Outcome{Ref: c.Ref, Refused: v.Results[i].Reason})
	}
	for _, c := range p.call.Push.Invalid {
		out.Outcomes = append(out.Outcomes, gitwire.Outcome{Ref: c.Ref, Refused: c.Reason})
	}
	return out
}
