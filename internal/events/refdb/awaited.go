package refdb

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// awaitedKept is how many served pull requests whose tips have not come the ledger remembers for one repository. Beyond that it forgets the
// one that it has remembered the longest.
const awaitedKept = 64

// AwaitedPrefix is the beginning of the names of rows that remember awaited tips.
const AwaitedPrefix = "awaited/"

func awaitedName(of nip34.Address) string { return named(AwaitedPrefix, of) }

// awaited is what the ledger remembers of a served pull request for a repository that it names and that lacks its tip.
type awaited struct {
	event nostr.ID
	tip   gitwire.ObjectID
}

const awaitedLen = len(nostr.ID{}) + idLen

var errAwaited = errors.New("the row of awaited tips is damaged")

// awaitedOf reads which tips a repository awaits, in the order in which they were remembered.
func awaitedOf(t Turn, of nip34.Address) ([]awaited, error) {
	row, err := t.Row(awaitedName(of))
	if err != nil {
		return nil, fmt.Errorf("tips that %s awaits: %w", of, err)
	}
	if len(row)%awaitedLen != 0 {
		return nil, fmt.Errorf("%s: %w", of, errAwaited)
	}
	var out []awaited
	for x := range slices.Chunk(row, awaitedLen) {
		n := len(nostr.ID{})
		out = append(out, awaited{nostr.ID(x[:n]), gitwire.ObjectIDOf([idLen]byte(x[n:]))})
	}
	return out, nil
}

// setAwaited writes which tips a repository awaits, in place of the former ones.
func setAwaited(t Turn, of nip34.Address, all []awaited) error {
	var row []byte // nil where there are none
	for _, x := range all {
		row = x.tip.AppendRaw(append(row, x.event[:]...))
	}
	return t.SetRow(awaitedName(of), row)
}

// await returns those of some pull requests that name a repository and whose tips it has. It remembers those that name the repository and
// whose tips it lacks.
func (g gitData) await(t Turn, of nip34.Address, dir Dir, some []refs.PullRequest) (here []refs.PullRequest, err error) {
	here, lack, err := g.tipsIn(t, of, dir, some)
	if err != nil {
		return nil, err
	}
	if len(lack) == 0 {
		return here, nil
	}
	all, err := awaitedOf(t, of)
	if err != nil {
		return nil, err
	}
	n := len(all)
	for _, p := range lack {
		if x := (awaited{p.ID, p.Tip}); !slices.Contains(all, x) {
			all = append(all, x)
		}
	}
	if len(all) == n {
		return here, nil
	}
	return here, setAwaited(t, of, all[max(0, len(all)-awaitedKept):])
}

// arrivedTips returns the awaited pull requests whose tips the repository has now, and awaits them no more.
func (g gitData) arrivedTips(t Turn, of nip34.Address, dir Dir) ([]nostr.ID, error) {
	all, err := awaitedOf(t, of)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	tips := make([]gitwire.ObjectID, 0, len(all))
	for _, x := range all {
		tips = append(tips, x.tip)
	}
	missing, err := g.Missing(t, dir, unique(tips))
	if err != nil {
		return nil, err
	}
	var came []nostr.ID
	var left []awaited
	for _, x := range all {
		if slices.Contains(missing, x.tip) {
			left = append(left, x)
		} else {
			came = append(came, x.event)
		}
	}
	if len(came) == 0 {
		return nil, nil
	}
	return came, setAwaited(t, of, left)
}
