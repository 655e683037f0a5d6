package backup

import (
	"slices"
	"strings"
	"time"
)

// entire is a complete backup in the directory.
type entire struct {
	name  string
	at    time.Time // when it began, by its name
	bytes int64
}

// The name of a backup is <name of the relay>-<time>.tar, with .partial at its end until the backup is complete.
const (
	stamp   = "20060102T150405Z"
	suffix  = ".tar"
	partial = ".partial"
)

func nameAt(relay string, at time.Time) string { return relay + "-" + at.UTC().Format(stamp) + suffix }

// parse reads the name of a file; ok tells whether it names a backup of that relay.
func parse(relay, name string) (at time.Time, complete, ok bool) {
	name, cut := strings.CutSuffix(name, partial)
	text, mine := strings.CutPrefix(name, relay+"-")
	text, tar := strings.CutSuffix(text, suffix)
	at, err := time.Parse(stamp, text)
	return at, !cut, mine && tar && err == nil
}

// begins returns the time in the name of the next backup: now, or the next second whose name is free, as the clock may have been set back.
func begins(relay string, now time.Time, there []entire) time.Time {
	at := now.UTC().Truncate(time.Second)
	for slices.ContainsFunc(there, func(w entire) bool { return w.name == nameAt(relay, at) }) {
		at = at.Add(time.Second)
	}
	return at
}

// strange reports whether a backup is more than an interval ahead of the clock: then a wrong clock named it.
func strange(w entire, now time.Time, every time.Duration) bool { return w.at.After(now.Add(every)) }

// due returns when the next backup is due: an interval after the newest that is not strange. So a relay waits for two intervals at most,
// whatever the clock does.
func due(now time.Time, every time.Duration, there []entire) time.Time {
	next := now
	for _, w := range there {
		if t := w.at.Add(every); t.After(next) && !strange(w, now, every) {
			next = t
		}
	}
	return next
}

// surplus returns the names of the backups beyond keep. Strange ones go first, as a wrong clock named them, then the oldest.
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

// The shortest and the longest wait after a failure.
const (
	firstRetry = time.Minute
	lastRetry  = time.Hour
)

// retryAfter returns the wait after so many failures in a row, at least 1. It is no longer than the interval.
func retryAfter(failures int, every time.Duration) time.Duration {
	return min(firstRetry<<min(failures-1, 10), lastRetry, every)
}

// newest returns when the last backup began; the zero time where there is none.
func newest(there []entire) (at time.Time) {
	for _, w := range there {
		if w.at.After(at) {
			at = w.at
		}
	}
	return at
}
