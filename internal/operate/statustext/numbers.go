package statustext

import "github.com/graspd/graspd/internal/base/safetext"

func events[N ~int | ~int64 | ~uint64](n N) string { return safetext.Number(n, "event", "events") }

func repositories[N ~int | ~int64 | ~uint64](n N) string {
	return safetext.Number(n, "repository", "repositories")
}
