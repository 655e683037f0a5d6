package refdb

import (
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// projectContributed writes the row of a contributed repository, if it has changed. It sets Gone when the last ref goes: some time later
// the repository is removed.
func (l *Ledger) projectContributed(t Turn, of nip34.Address, x *touched) error {
	before, err := Read(t, of)
	if err != nil || before.Dir.IsZero() {
		return err
	}
	here, _, err := l.data.tipsIn(t, of, before.Dir, x.tips)
	if err != nil {
		return err
	}
	after := before
	after.Refs = before.Refs.Next(of, refs.Change{Members: &grasp.Set{}, PullRequests: here, Gone: x.gone})
	gone := before.Gone
	if len(after.Refs.PullRequests) > 0 {
		gone = 0
	} else if gone == 0 {
		gone = t.Now.Unix()
	}
	after.Gone = gone
	moved := after.Refs.Generation != before.Refs.Generation
	if gone == before.Gone && !moved {
		return nil
	}
	if moved {
		after.Moved = t.Now.Unix()
	}
	return l.inBatch.write(t, after, moved)
}

// contributedOf returns the contributed repositories with that identifier that had anything come or go.
func contributedOf(d string, x *touched) []nip34.Address {
	all := slices.Clone(x.contributed)
	for _, p := range x.tips {
		for _, of := range p.Repositories {
			if grasp.IsContributed(of) && of.D == d && !slices.Contains(all, of) {
				all = append(all, of)
			}
		}
	}
	return all
}

// Mirror has the tips that a contributed repository has and the announced repository To lacks.
type Mirror struct {
	To     Repository
	Events []nostr.ID
	Tips   []gitwire.ObjectID // in the order of Events
}

// mirrorsAtOnce is how many tips Unmirrored returns. The rest follows with the next change, or when something finds that it is missing.
const mirrorsAtOnce = 256

// Unmirrored returns which tips of a contributed repository the announced repositories here lack, though its pull requests name them. A
// repository that has lost its files lacks tips which its own refs name.
func (r *Reader) Unmirrored(of nip34.Address) (from Repository, out []Mirror, err error) {
	if from, err = Read(r, of); err != nil || from.Dir.IsZero() {
		return from, nil, err
	}
	m := mirroring{data: r.data, t: r, at: map[nip34.Address]int{}}
	lost, err := m.lacks(from.Dir, from.Refs.PullRequests)
	if err != nil {
		return from, nil, fmt.Errorf("what %s has lost: %w", of, err)
	}
	for _, x := range from.Refs.PullRequests {
		if lost[x.Tip] {
			continue
		}
		if err := m.tip(x); err != nil {
			return from, nil, fmt.Errorf("who mirrors %s: %w", of, err)
		}
		if m.tips >= mirrorsAtOnce {
			break
		}
	}
	for i := range m.out {
		if err := m.lost(&m.out[i], m.shown[i]); err != nil {
			return from, nil, fmt.Errorf("what %s has lost: %w", m.out[i].To.Of, err)
		}
	}
	return from, slices.DeleteFunc(m.out, func(x Mirror) bool { return len(x.Events) == 0 }), nil
}

// mirroring collects the tips of a contributed repository that announced repositories lack.
type mirroring struct {
	data  gitData
	t     *Reader
	out   []Mirror
	shown [][]refs.Pull         // for each of out, the pull requests that already have a ref there
	at    map[nip34.Address]int // indexes of out; -1 where the repository is not hosted here
	tips  int
}

// lost adds the tips of which a repository has a ref but not the objects.
func (m *mirroring) lost(r *Mirror, shown []refs.Pull) error {
	lacks, err := m.lacks(r.To.Dir, shown)
	if err != nil {
		return err
	}
	for _, x := range shown {
		if lacks[x.Tip] && m.tips < mirrorsAtOnce {
			r.Events, r.Tips = append(r.Events, x.ID), append(r.Tips, x.Tip)
			m.tips++
		}
	}
	return nil
}

func (m *mirroring) tip(x refs.Pull) error {
	e, ok, err := m.t.Get(x.ID)
	if err != nil || !ok {
		return err
	}
	for _, to := range nip34.Repositories(e) {
		i, err := m.indexOf(to)
		if err != nil {
			return err
		}
		if i < 0 {
			continue
		}
		r := &m.out[i]
		if r.To.Refs.PullRequests.Get(x.Name()) != x.Tip {
			r.Events, r.Tips = append(r.Events, x.ID), append(r.Tips, x.Tip)
			m.tips++
		} else {
			m.shown[i] = append(m.shown[i], x)
		}
	}
	return nil
}

// lacks returns those of the tips that a directory does not have.
func (m *mirroring) lacks(dir Dir, of []refs.Pull) (map[gitwire.ObjectID]bool, error) {
	tips := make([]gitwire.ObjectID, len(of))
	for i, x := range of {
		tips[i] = x.Tip
	}
	missing, err := m.data.Missing(m.t, dir, tips)
	lacks := make(map[gitwire.ObjectID]bool, len(missing))
	for _, id := range missing {
		lacks[id] = true
	}
	return lacks, err
}

// indexOf returns the index of an announced repository in out; -1 where the repository is not hosted here.
func (m *mirroring) indexOf(of nip34.Address) (int, error) {
	if i, ok := m.at[of]; ok {
		return i, nil
	}
	m.at[of] = -1
	own, err := announcementsOf(m.t, of)
	if err != nil || !slices.ContainsFunc(own, m.t.serves) {
		return -1, err
	}
	r, err := Read(m.t, of)
	if err != nil {
		return -1, err
	}
	m.out, m.shown = append(m.out, Mirror{To: r}), append(m.shown, nil)
	m.at[of] = len(m.out) - 1
	return m.at[of], nil
}
