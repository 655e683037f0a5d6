package main

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/status"
)

// tally counts the verdicts on the lines of an import, each line by its last verdict.
type tally struct {
	unreadable int // owned by the reading goroutine

	mu      sync.Mutex // guards the fields below
	verdict [policy.Failed + 1]int
	listing uint64                 // announcements that were stored
	last    map[int]policy.Outcome // of the lines that wait for other events
	refused map[string]int         // by the text of the refusal, at most mostRefusals of them
	cause   string
}

// mostRefusals is how many texts of refusals tally counts apart. Few texts need more, as most have nothing of the event in them.
const mostRefusals = 64

func newTally() *tally {
	return &tally{last: make(map[int]policy.Outcome), refused: make(map[string]int)}
}

// decided counts the verdict on a line, and takes an earlier verdict on that line back.
func (t *tally) decided(line int, kind nostr.Kind, v policy.Verdict) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := v.Outcome
	if before, again := t.last[line]; again {
		t.verdict[before]--
		delete(t.last, line)
		if o == policy.Duplicate { // the door has stored it meanwhile, from the events that wait there
			o = policy.Accept
		}
	}
	t.verdict[o]++
	if kind == nip34.KindRepository && o == policy.Accept {
		t.listing++
	}
	switch {
	case o.Orphan():
		t.last[line] = o
	case o == policy.Refuse || o == policy.Discard || o == policy.Invalid:
		if _, known := t.refused[v.Reason]; known || len(t.refused) < mostRefusals {
			t.refused[v.Reason]++
		}
	case o == policy.Failed:
		t.cause = v.Reason
	}
}

func (t *tally) waits(line int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.last[line]
	return ok
}

// orphans returns how many lines wait for other events.
func (t *tally) orphans() int { t.mu.Lock(); defer t.mu.Unlock(); return len(t.last) }

func (t *tally) count(o policy.Outcome) int { t.mu.Lock(); defer t.mu.Unlock(); return t.verdict[o] }

// total counts the verdicts on all lines so far.
func (t *tally) total() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, some := range t.verdict {
		n += some
	}
	return n
}

func (t *tally) stored() int { return t.count(policy.Accept) }

// refusals returns how many lines the rules refused.
func (t *tally) refusals() (n int) {
	for o := policy.Withdraw; o <= policy.Discard; o++ {
		n += t.count(o)
	}
	return n
}

// nothing reports whether the file had something in it but none of it is here now.
func (t *tally) nothing() bool {
	return t.stored()+t.count(policy.Duplicate) == 0 && t.refusals()+t.count(policy.Invalid)+t.unreadable > 0
}

// String returns the counts in one line.
func (t *tally) String() string {
	return fmt.Sprintf("stored %d, known before %d, refused by the rules %d, forged %d, unreadable %d",
		t.stored(), t.count(policy.Duplicate), t.refusals(), t.count(policy.Invalid), t.unreadable)
}

// reasons returns why lines were refused and how many for each reason, the most frequent first.
func (t *tally) reasons(service grasp.Service) []string {
	type reason struct {
		n   int
		why string
	}
	var all []reason
	for _, r := range []struct {
		of  policy.Outcome
		why string
	}{
		{policy.Unlisted, "announcements that do not list " + service.String()},
		{policy.Unrelated, "name nothing that is here, such as a repository that is not carried"},
		{policy.NoMaintainer, "states by somebody who maintains no such repository here"},
		{policy.Superseded, "older than the version that is here"},
		{policy.Deleted, "deleted by their authors"},
		{policy.Expired, "expired"},
		{policy.Vanished, "by authors who have asked to vanish"},
		{policy.Withdraw, "announcements that no longer list " + service.String()},
		{policy.Lapsed, "waited in vain for their git data"},
	} {
		all = append(all, reason{t.count(r.of), r.why})
	}
	told, rest := 0, t.count(policy.Refuse)+t.count(policy.Discard)+t.count(policy.Invalid)
	t.mu.Lock()
	for why, n := range t.refused {
		all = append(all, reason{n, why})
		told += n
	}
	t.mu.Unlock()
	all = append(all, reason{rest - told, "for other reasons"})
	all = slices.DeleteFunc(all, func(r reason) bool { return r.n <= 0 })
	slices.SortFunc(all, func(a, b reason) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.why, b.why)) })
	const most = 12
	var lines []string
	for i, r := range all {
		if i == most {
			lines = append(lines, fmt.Sprintf("and %d reasons more", len(all)-most))
			break
		}
		lines = append(lines, fmt.Sprintf("%7d  %s", r.n, r.why))
	}
	return lines
}

// suggestDomain advises another --domain where the announcements list other services: the name that most of them list. It returns "" where
// there is none, and where service took more announcements.
func (t *tally) suggestDomain(seen status.Nothing, service grasp.Service) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range seen.Names {
		if s, err := grasp.ParseService(x.Name); err == nil && s != service && x.Announcements >= t.listing {
			return fmt.Sprintf("%d of the announcements list %s: import with --domain %s takes these, if that is the name of this relay", x.Announcements, x.Name, x.Name)
		}
	}
	return ""
}
