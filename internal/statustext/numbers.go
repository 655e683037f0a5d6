package statustext

import "github.com/graspd/graspd/internal/words"

func events[N ~int | ~int64 | ~uint64](n N) string { return words.Number(n, "event", "events") }

func repositories[N ~int | ~int64 | ~uint64](n N) string {
	return words.Number(n, "repository", "repositories")
}
