package backups

import (
	"slices"
	"strings"
	"time"
)

// entire is a complete backup that is in the directory.
type entire struct {
	name  string
	at    time.Time // when it was begun
	bytes int64
}

// Names are <name of the relay>-<time>.tar, and end in .partial until they are complete.
const (
	stamp   = "20060102T150405Z"
	suffix  = ".tar"
	partial = ".partial"
)

func nameAt(relay string, at time.Time) string { return relay + "-" + at.UTC().Format(stamp) + suffix }

// parse reads the name of a file; ok is whether it is a backup of that relay.
func parse(relay, name string) (at time.Time, complete, ok bool) {
	name, cut := strings.CutSuffix(name, partial)
	text, mine := strings.CutPrefix(name, relay+"-")
	text, tar := strings.CutSuffix(text, suffix)
	at, err := time.Parse(stamp, text)
	return at, !cut, mine && tar && err == nil
}

// begins is for when the next backup is named, so that it has a name of its own also where the clock was set back.
func begins(relay string, now time.Time, there []entire) time.Time {
	at := now.UTC().Truncate(time.Second)
	for slices.ContainsFunc(there, func(w entire) bool { return w.name == nameAt(relay, at) }) {
		at = at.Add(time.Second)
	}
	return at
}

// strange is whether a backup is more than an interval ahead of the clock: then it was made by a clock that was wrong.
func strange(w entire, now time.Time, every time.Duration) bool { return w.at.After(now.Add(every)) }

// due is when the next backup is due: an interval after the newest that is not strange. So whatever the clock does, a relay waits for two
// intervals at most.
func due(now time.Time, every time.Duration, there []entire) time.Time {
	next := now
	for _, w := range there {
		if t := w.at.Add(every); t.After(next) && !strange(w, now, every) {
			next = t
		}
	}
	return next
}

// surplus are those beyond what is to be kept. The oldest go, and before these what is strange: it was made before the clock was set back.
func surplus(now time.Time, every time.Duration, keep int, there []entire) (names []string) {
	sorted := slices.Clone(there)
	slices.SortFunc(sorted, func(a, b entire) int {
		if odd := strange(a, now, every); odd != strange(b, now, every) {
			if odd {
				return -1
			}
			return 1
		}
		return a.at.Compare(b.at)
	})
	for _, w := range sorted[:max(0, len(sorted)-keep)] {
		names = append(names, w.name)
	}
	return names
}

// How long a relay waits until it tries again what has failed.
const (
	firstRetry = time.Minute
	lastRetry  = time.Hour
)

// retryAfter is that wait after so many failures in a row, at least 1. It is no longer than the interval.
func retryAfter(failures int, every time.Duration) time.Duration {
	return min(firstRetry<<min(failures-1, 10), lastRetry, every)
}

// newest is the one that was begun last; the zero time where there is none.
func newest(there []entire) (at time.Time) {
	for _, w := range there {
		if w.at.After(at) {
			at = w.at
		}
	}
	return at
}
